"""An object store on loopback for tests: a real server, with and without faults."""

from __future__ import annotations

import threading
import time
from pathlib import Path

BUCKET = "judgments"
DENIED = (
    b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'
)


class ObjectStore:
    """A server of moto behind faults that a test asks for.

    Attributes
    ----------
    denied : keys to which access is denied
    cut : keys of which a request for bytes yields only the first half
    slow : keys whose requests are answered late
    on_read : called once, with the key, after the first request for its bytes was answered
    """

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.heal()

    def heal(self) -> None:
        self.denied, self.cut, self.slow, self.on_read = set(), set(), set(), {}

    def connect(self) -> None:
        import boto3

        self.client = boto3.client("s3")
        self.client.create_bucket(Bucket=BUCKET)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def put(self, key: str, content: bytes | Path) -> str:
        content = content if isinstance(content, bytes) else content.read_bytes()
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)
        return f"s3://{BUCKET}/{key}"

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def _serve(self, environ, start_response):
        key = environ["PATH_INFO"].removeprefix(f"/{BUCKET}/")
        if key in self.denied:
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"" if environ["REQUEST_METHOD"] == "HEAD" else DENIED]
        if key in self.slow:
            time.sleep(2)
        reads = environ["REQUEST_METHOD"] == "GET"
        if not (reads and (key in self.cut or key in self.on_read)):
            return self._app(environ, start_response)
        answer = []
        body = b"".join(self._app(environ, lambda *given: answer.append(given)))
        if key in self.cut:
            body = body[: len(body) // 2]
        if key in self.on_read:
            self.on_read.pop(key)()
        status, headers, *_ = answer[0]
        own = ("content-length", "content-range", "x-amz-checksum")
        kept = [(name, value) for name, value in headers if not name.lower().startswith(own)]
        start_response(status, [*kept, ("Content-Length", str(len(body)))])
        return [body]
