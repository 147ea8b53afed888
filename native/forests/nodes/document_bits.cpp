#include "forests/nodes/document_bits.hpp"

#include <algorithm>
#include <bit>

#include "common/byte_square.hpp"
#include "common/simd.hpp"

namespace rankgrove::forests {
namespace {

constexpr int64_t kWord = 64;

#if RANKGROVE_X86

RANKGROVE_AVX2 inline __m256i load32(const uint8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

// Bit i: whether code i is at most `last`, of 64 codes.
RANKGROVE_AVX2 inline uint64_t at_most(const uint8_t* codes, uint8_t last) {
  const __m256i bound = _mm256_set1_epi8(static_cast<char>(last));
  const __m256i a = load32(codes);
  const __m256i b = load32(codes + 32);
  const auto low =
      static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(a, bound), a)));
  const auto high =
      static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(b, bound), b)));
  return static_cast<uint64_t>(high) << 32 | low;
}

// 32 bytes, 0 for a bit that is set and 255 for another.
RANKGROVE_AVX2 inline void put_unset(uint32_t bits, uint8_t* bytes) {
  const __m256i byte_of =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bit_of = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
  const __m256i copies =
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int32_t>(bits)), byte_of);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes),
                      _mm256_cmpeq_epi8(_mm256_and_si256(copies, bit_of), _mm256_setzero_si256()));
}

// Smallest and largest of n codes (a multiple of 32), of those whose byte in `strangers` is 0.
RANKGROVE_AVX2 std::pair<int32_t, int32_t> range_of_members(const uint8_t* codes,
                                                            const uint8_t* strangers, int64_t n) {
  __m256i lowest = _mm256_set1_epi8(-1);
  __m256i highest = _mm256_setzero_si256();
  for (int64_t i = 0; i < n; i += 32) {
    const __m256i code = load32(codes + i);
    const __m256i stranger = load32(strangers + i);
    lowest = _mm256_min_epu8(lowest, _mm256_or_si256(code, stranger));
    highest = _mm256_max_epu8(highest, _mm256_andnot_si256(stranger, code));
  }
  // The least of both, if the highest are turned around: eight bytes of each in one register.
  highest = _mm256_xor_si256(highest, _mm256_set1_epi8(-1));
  const __m256i four = _mm256_min_epu8(_mm256_unpacklo_epi64(lowest, highest),
                                       _mm256_unpackhi_epi64(lowest, highest));
  __m128i two = _mm_min_epu8(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  two = _mm_min_epu8(two, _mm_srli_epi64(two, 32));
  two = _mm_min_epu8(two, _mm_srli_epi64(two, 16));
  two = _mm_min_epu8(two, _mm_srli_epi64(two, 8));
  return {_mm_extract_epi8(two, 0), 255 - _mm_extract_epi8(two, 8)};
}

#else

#define RANKGROVE_AVX2

inline uint64_t at_most(const uint8_t* codes, uint8_t last) {
  uint64_t result = 0;
  for (int64_t i = 0; i < kWord; ++i) result |= static_cast<uint64_t>(codes[i] <= last) << i;
  return result;
}

inline void put_unset(uint32_t bits, uint8_t* bytes) {
  for (int32_t i = 0; i < 32; ++i) bytes[i] = (bits >> i & 1) != 0 ? 0 : 255;
}

std::pair<int32_t, int32_t> range_of_members(const uint8_t* codes, const uint8_t* strangers,
                                             int64_t n) {
  uint8_t lowest = 255;
  uint8_t highest = 0;
  for (int64_t i = 0; i < n; ++i) {
    lowest = std::min<uint8_t>(lowest, codes[i] | strangers[i]);
    highest = std::max<uint8_t>(highest, strangers[i] != 0 ? 0 : codes[i]);
  }
  return {lowest, highest};
}

#endif

}  // namespace

bool DocumentBits::available() {
#if RANKGROVE_X86
  return has_avx2();
#else
  return true;
#endif
}

DocumentBits::DocumentBits(const ForestFeatures& features, int32_t n_classes,
                           int64_t most_documents)
    : binned_(*features.binned),
      row_codes_(features.row_codes<uint8_t>()),
      n_classes_(n_classes),
      most_documents_((most_documents + kWord - 1) / kWord * kWord),
      // A cache line more: with a power of two, all features would compete for a few cache sets.
      stride_(most_documents_ + kWord),
      codes_(static_cast<size_t>(binned_.n_features() * stride_)),
      classes_(static_cast<size_t>(n_classes * most_documents_ / kWord)),
      members_(static_cast<size_t>(most_documents_ / kWord)),
      strangers_(static_cast<size_t>(most_documents_)) {}

void DocumentBits::assign(const int32_t* rows, const uint8_t* labels, int64_t n) {
  rows_ = rows;
  labels_ = labels;
  n_documents_ = n;
  n_words_ = (n + kWord - 1) / kWord;
  std::fill_n(classes_.begin(), n_classes_ * n_words_, 0);
  for (int64_t i = 0; i < n; ++i) {
    classes_[labels[i] * n_words_ + i / kWord] |= uint64_t{1} << (i % kWord);
  }
  const int64_t m = binned_.n_features();
  if (m < kByteSquare) {
    for (int64_t f = 0; f < m; ++f) {
      for (int64_t i = 0; i < n; ++i) codes_[f * stride_ + i] = row_codes_[rows[i] * m + f];
    }
    return;
  }
  constexpr int64_t kLine = 64;
  const uint8_t* documents[kByteSquare];
  for (int64_t begin = 0; begin < n; begin += kByteSquare) {
    for (int64_t i = 0; i < kByteSquare; ++i) {  // behind the last one, it comes again
      documents[i] = row_codes_ + rows[std::min(begin + i, n - 1)] * m;
      const uint8_t* later = row_codes_ + rows[std::min(begin + kByteSquare + i, n - 1)] * m;
      for (int64_t f = 0; f < m; f += kLine) __builtin_prefetch(later + f);
    }
    int64_t first = 0;
    for (int64_t f = 0; f < m; f += kByteSquare) {
      const int64_t step = std::min(f, m - kByteSquare) - first;
      first += step;
      for (const uint8_t*& document : documents) document += step;
      turn_byte_square(documents, codes_.data() + first * stride_ + begin, stride_);
    }
  }
}

void DocumentBits::put_all(uint64_t* set) const {
  std::fill_n(set, n_words_, ~uint64_t{0});
  set[n_words_ - 1] >>= (n_words_ * kWord - n_documents_);
}

void DocumentBits::list(const uint64_t* set, std::vector<int32_t>& rows,
                        std::vector<uint8_t>& labels) const {
  for (int64_t w = 0; w < n_words_; ++w) {
    for (uint64_t rest = set[w]; rest != 0; rest &= rest - 1) {
      const int64_t i = w * kWord + std::countr_zero(rest);
      rows.push_back(rows_[i]);
      labels.push_back(labels_[i]);
    }
  }
}

RANKGROVE_AVX2 void DocumentBits::start(const uint64_t* set, int64_t n) {
  n_members_ = n;
  for (int64_t w = 0; w < n_words_; ++w) {
    members_[w] = set[w];
    uint8_t* bytes = strangers_.data() + w * kWord;
    put_unset(static_cast<uint32_t>(set[w]), bytes);
    put_unset(static_cast<uint32_t>(set[w] >> 32), bytes + 32);
  }
}

std::pair<int32_t, int32_t> DocumentBits::range(int32_t feature) const {
  return range_of_members(codes_of(feature), strangers_.data(), n_words_ * kWord);
}

int32_t DocumentBits::largest_value(int32_t feature) const {
  const uint8_t* codes = codes_of(feature);
  int32_t largest = 0;
  for (int64_t i = 0; i < n_words_ * kWord; ++i) {
    const bool counts = strangers_[i] == 0 && codes[i] <= last_value(feature);
    if (counts) largest = std::max<int32_t>(largest, codes[i]);
  }
  return largest;
}

RANKGROVE_AVX2 bool DocumentBits::some_missing(int32_t feature) const {
  if (!binned_.has_missing(feature)) return false;
  const uint8_t* codes = codes_of(feature);
  uint64_t some = 0;
  for (int64_t w = 0; w < n_words_; ++w) {
    some |= ~at_most(codes + w * kWord, last_value(feature)) & members_[w];
  }
  return some != 0;
}

RANKGROVE_AVX2 uint64_t DocumentBits::left_of_word(const NodeSplit& split, int64_t w) const {
  const uint8_t* codes = codes_of(split.feature) + w * kWord;
  uint64_t left = at_most(codes, static_cast<uint8_t>(split.bin));
  if (split.missing_left) left |= ~at_most(codes, last_value(split.feature));
  return left & members_[w];
}

RANKGROVE_AVX2 void DocumentBits::count_left(const NodeSplit& split, Counts& counts) const {
  for (int32_t c = 0; c < n_classes_; ++c) counts[c] = 0;
  for (int64_t w = 0; w < n_words_; ++w) {
    const uint64_t left = left_of_word(split, w);
    for (int32_t c = 0; c < n_classes_; ++c) {
      counts[c] += static_cast<uint32_t>(std::popcount(classes_[c * n_words_ + w] & left));
    }
  }
}

RANKGROVE_AVX2 void DocumentBits::part(const NodeSplit& split, uint64_t* left,
                                       uint64_t* right) const {
  for (int64_t w = 0; w < n_words_; ++w) {
    left[w] = left_of_word(split, w);
    right[w] = members_[w] & ~left[w];
  }
}

}  // namespace rankgrove::forests
