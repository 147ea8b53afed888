// A feature matrix as linear models see it: filled, finite, and normalised within queries, without
// a copy.
//
// Values are float32 (float64 is rounded first). NaN becomes the feature's fill, infinities the
// largest finite value. Under a normalisation a value becomes (x - low) * scale with the low and
// scale of its query and feature; scale is 0 where the feature is constant in the query.
//
// Positions count rows in grouped order, query by query. Without queries, the caller makes blocks
// of rows up. Each score is summed feature by feature in their order, so that its bits depend
// neither on the layout nor on the other rows.
#pragma once

#include <cstdint>
#include <vector>

namespace rankgrove {

enum class Normalisation { kNone, kMinmax, kZscore };

// A float32 or float64 matrix in the caller's memory. Strides are in elements.
struct FeatureView {
  const float* floats;  // null if the matrix holds doubles
  const double* doubles;
  int64_t n_rows;
  int64_t n_features;
  int64_t row_stride;
  int64_t column_stride;
};

class LinearFeatures {
 public:
  // `order` lists the rows in grouped order (empty: as they are): all of them, or a sample, in
  // which a row may be repeated. With `keep_scales`, what queries
  // are normalised by is computed once and kept; `sums`, `column` and `spreads` need it.
  LinearFeatures(const FeatureView& x, std::vector<float> fill, std::vector<int64_t> offsets,
                 std::vector<int64_t> order, Normalisation normalisation, bool keep_scales,
                 int n_threads);

  int64_t n_rows() const { return offsets_.back(); }
  int64_t n_features() const { return x_.n_features; }

  // out[i] = sum over features of weight * value, by position.
  void scores(const double* weights, int n_threads, double* out) const;
  // The sum over positions of factor * value, by feature: the gradient of scores' losses.
  std::vector<double> sums(const double* factors, int n_threads) const;
  // One feature, by position.
  void column(int64_t feature, int n_threads, double* out) const;
  // The standard deviation of each feature within queries, over all of them.
  std::vector<double> spreads(int n_threads) const;

 private:
  struct Scale {
    const double* low;  // null: values are taken as they are
    const double* scale;
  };

  int64_t n_queries() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t row(int64_t position) const { return order_.empty() ? position : order_[position]; }
  double cost_of_query() const;
  void load(int64_t position, const Scale& by, double* out) const;
  double clean(int64_t position, int64_t feature) const;
  void find_scale(int64_t query, double* low, double* scale, double* row) const;
  Scale scale_of(int64_t query, std::vector<double>& scratch) const;
  template <typename Add>
  std::vector<double> sum_blocks(int n_threads, Add&& add) const;

  FeatureView x_;
  std::vector<float> fill_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> order_;
  Normalisation normalisation_;
  std::vector<double> low_, scale_;  // queries x features, if kept
};

}  // namespace rankgrove
