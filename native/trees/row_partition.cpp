#include "trees/row_partition.hpp"

#include <algorithm>
#include <numeric>

#include "common/category_bits.hpp"
#include "common/parallel.hpp"

namespace rankgrove {
namespace {

constexpr int64_t kBlock = 2048;
constexpr double kNanosecondsPerRow = 2.0;
constexpr double kNanosecondsPerCopy = 0.2;

}  // namespace

void RowPartition::reset(const int32_t* rows, int64_t n_rows, int32_t* scratch, int n_threads) {
  scratch_ = scratch;
  rows_.resize(n_rows);
  parallel_for(
      (n_rows + kBlock - 1) / kBlock, n_threads, kNanosecondsPerCopy * kBlock, [&](int64_t block) {
        const int64_t first = block * kBlock;
        const int64_t last = std::min(n_rows, first + kBlock);
        if (rows) {
          std::copy(rows + first, rows + last, rows_.begin() + first);
        } else {
          std::iota(rows_.begin() + first, rows_.begin() + last, static_cast<int32_t>(first));
        }
      });
}

// Each block writes its left rows forwards from its beginning and its right rows backwards from its
// end, and returns the number of left rows. Not inlined: inside the loop over threads the compiler
// keeps less in registers, and two threads together took half as long again as one.
template <typename Code>
[[gnu::noinline]] int64_t RowPartition::split_block(const Code* codes, int64_t first, int64_t last,
                                                    const uint8_t* goes_left) {
  const int32_t* rows = rows_.data() + first;
  int32_t* left = scratch_ + first;
  int32_t* right = scratch_ + last - 1;
  int64_t to_left = 0;
  for (int64_t i = 0; i < last - first; ++i) {
    const int32_t row = rows[i];
    left[to_left] = row;
    right[to_left - i] = row;
    to_left += goes_left[codes[row]];
  }
  return to_left;
}

// With all block sizes known, the two sides of a block are copied to where they belong.
void RowPartition::copy_block(int64_t first, int64_t n_left, int64_t last, int64_t left,
                              int64_t right) {
  std::copy_n(scratch_ + first, n_left, rows_.begin() + left);
  std::reverse_copy(scratch_ + first + n_left, scratch_ + last, rows_.begin() + right);
}

template <typename Code>
int64_t RowPartition::split_by(const Code* codes, int64_t begin, int64_t end,
                               const uint8_t* goes_left, int n_threads) {
  if (end - begin <= kBlock) {
    const int64_t n_left = split_block(codes, begin, end, goes_left);
    copy_block(begin, n_left, end, begin, begin + n_left);
    return begin + n_left;
  }
  const int64_t n_blocks = (end - begin + kBlock - 1) / kBlock;
  std::vector<int64_t> n_left(n_blocks);
  parallel_for(n_blocks, n_threads, kNanosecondsPerRow * kBlock, [&](int64_t block) {
    const int64_t first = begin + block * kBlock;
    n_left[block] = split_block(codes, first, std::min(end, first + kBlock), goes_left);
  });
  std::vector<int64_t> left_start(n_blocks + 1, begin);
  for (int64_t b = 0; b < n_blocks; ++b) left_start[b + 1] = left_start[b] + n_left[b];
  const int64_t middle = left_start[n_blocks];
  parallel_for(n_blocks, n_threads, kNanosecondsPerRow * kBlock / 2, [&](int64_t block) {
    const int64_t first = begin + block * kBlock;
    const int64_t rights_before = (first - begin) - (left_start[block] - begin);
    copy_block(first, n_left[block], std::min(end, first + kBlock), left_start[block],
               middle + rights_before);
  });
  return middle;
}

int64_t RowPartition::split(int64_t begin, int64_t end, const CodeRule& rule, int n_threads) {
  const int32_t missing = binned_.missing_bin(rule.feature);
  goes_left_.assign(missing + 1, 0);
  if (rule.categories) {
    for (int32_t code = 0; code < missing; ++code) {
      goes_left_[code] = has_category(*rule.categories, code);
    }
  } else {
    std::fill_n(goes_left_.begin(), std::min(rule.bin + 1, missing), 1);
  }
  goes_left_[missing] = rule.missing_left;
  const uint8_t* goes_left = goes_left_.data();
  if (binned_.wide) {
    return split_by(binned_.column(rule.feature, column16_), begin, end, goes_left, n_threads);
  }
  return split_by(binned_.column(rule.feature, column8_), begin, end, goes_left, n_threads);
}

void RowPartition::undo_split(int64_t begin, int64_t middle, int64_t end) {
  std::inplace_merge(rows_.begin() + begin, rows_.begin() + middle, rows_.begin() + end);
}

void RowPartition::count_codes(int64_t begin, int64_t end, int32_t feature, int64_t* counts) const {
  if (binned_.wide) {
    const uint16_t* codes = binned_.column(feature, column16_);
    for (int64_t i = begin; i < end; ++i) ++counts[codes[rows_[i]]];
  } else {
    const uint8_t* codes = binned_.column(feature, column8_);
    for (int64_t i = begin; i < end; ++i) ++counts[codes[rows_[i]]];
  }
}

}  // namespace rankgrove
