// node score_onnx.js MODEL ROWS N_ROWS float32|float64: prints the scores of rows as a JSON list.
const ort = require('onnxruntime-node');
const fs = require('fs');

const [model, file, nRows, type] = process.argv.slice(2);
const bytes = fs.readFileSync(file);
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
const rows = type === 'float64' ? new Float64Array(buffer) : new Float32Array(buffer);

(async () => {
  const session = await ort.InferenceSession.create(model);
  const {score} = await session.run({X: new ort.Tensor(type, rows, [+nRows, rows.length / nRows])});
  console.log(JSON.stringify(Array.from(score.data)));
})();
