/* Scores rankgrove's model files (.rg, format versions 3 and 4) from C, with the bits of rankgrove
 * itself.
 *
 * One file and no dependency. In exactly one source file of a program:
 *
 *     #define RANKGROVE_IMPLEMENTATION
 *     #include "rankgrove.h"
 *
 * and elsewhere the include alone. For other languages, make a library of it:
 *
 *     cc -O2 -shared -fPIC -DRANKGROVE_IMPLEMENTATION -x c rankgrove.h -o librankgrove.so
 *
 * The file is mapped, so that processes share one copy; it must not be changed in place while it is
 * open (rankgrove never does that: it renames a new file into place). Everything that scoring
 * relies on is checked by rankgrove_open, checksums too. A model may be used by any number of
 * threads.
 *
 * Trees of up to 64 leaves without sets of categories are scored for many documents at once: with
 * GCC and Clang by vector instructions, on x86-64 by those of AVX-512 or AVX2 if the processor has
 * them. rankgrove_open makes a copy of these trees for that, of about 12 bytes per node, and a call
 * of rankgrove_score takes up to 1024 bytes per feature. Other trees are walked node by node in the
 * mapped file, and so are all trees if fewer than four documents are left to score, or
 * if -DRANKGROVE_VECTOR_BYTES=0 is given.
 *
 * Models of trees with one output and no link are taken: every boosted ranker but McRank, every
 * forest but RF-pair, and imported models. Others are refused with a message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RANKGROVE_H
#define RANKGROVE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rankgrove_model rankgrove_model;

/* Opens a model file. Returns NULL if it cannot be used; `error` (of `error_size` bytes, or NULL)
 * then says why. */
rankgrove_model* rankgrove_open(const char* path, char* error, size_t error_size);

/* Ends a model; NULL is allowed. */
void rankgrove_close(rankgrove_model* model);

/* Number of features of a document. */
int rankgrove_n_features(const rankgrove_model* model);

/* Name of a feature in UTF-8, or NULL if the model has no names. It lives as long as the model. */
const char* rankgrove_feature_name(const rankgrove_model* model, int feature);

/* Scores documents: the higher, the more relevant. The features of document i begin at
 * rows[i * stride], in the order of the training data; NaN is a missing value. A categorical
 * feature holds the code of its category, a whole number: its index in the lists `values` and then
 * `pooled` (which share one code) of the header's `model.categories`; NaN is also a category that
 * is not there. */
void rankgrove_score(const rankgrove_model* model, const float* rows, size_t n_rows, size_t stride,
                     double* scores);

#ifdef __cplusplus
}
#endif

#endif /* RANKGROVE_H */

#ifdef RANKGROVE_IMPLEMENTATION

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define RANKGROVE_MAPS 1
#else
#define RANKGROVE_MAPS 0
#endif

/* Bytes of the widest vectors that are used: 16, 32, 64, or 0, with which all trees are walked. */
#ifndef RANKGROVE_VECTOR_BYTES
#ifdef __GNUC__ /* Clang, too */
#define RANKGROVE_VECTOR_BYTES 64
#else
#define RANKGROVE_VECTOR_BYTES 0
#endif
#endif

/* A test of a tree in bits, and the leaves that stay possible for a document that goes right. */
typedef struct {
  float threshold;
  uint32_t column;
  uint32_t stay[2]; /* leaves 0 to 31, 32 to 63 */
} rankgrove_split;

typedef struct {
  int64_t first_split, first_value;
  int32_t n_splits;
  int32_t n_words; /* of 32 leaves; 0: the tree is not in bits */
} rankgrove_bit_tree;

/* Adds the values of trees in bits to the sums of a block of documents. */
typedef void (*rankgrove_kernel)(const rankgrove_model* model, int64_t tree, int64_t last_tree,
                                 const float* columns, size_t n_rows, double* sums);

struct rankgrove_model {
  unsigned char* data;
  size_t size;
  int64_t n_features, n_trees, n_nodes;
  const int64_t* tree_offsets;
  const double* tree_weights;
  double base_score;
  const int16_t* feature16; /* one of the two */
  const int32_t* feature32;
  const float* threshold;
  const int32_t* left;
  const unsigned char* missing_left;
  const float* value32; /* one of the two */
  const double* value64;
  const float* fill;          /* or NULL */
  const float* missing_up_to; /* or NULL */
  const int32_t* set_of_node; /* sets of categories, or NULL */
  const int64_t* set_offsets;
  const uint32_t* set_words;
  int64_t n_sets;
  char** names;                  /* or NULL */
  rankgrove_bit_tree* bit_trees; /* or NULL: all trees are walked */
  rankgrove_split* splits;
  double* values;    /* of the leaves of bit_trees, weighted */
  uint32_t* columns; /* what splits test: 2 * feature + missing_left, ascending */
  int64_t n_columns;
  size_t vector_rows;                 /* documents in a vector */
  const rankgrove_kernel* kernels[2]; /* by vectors, for trees of one and of two words */
};

/* ---- what went wrong ---- */

typedef struct {
  const char* path;
  char* text;
  size_t size;
} rankgrove_error;

static int rankgrove_fail(rankgrove_error* error, const char* format, ...) {
  if (error->text != NULL && error->size > 0) {
    const int n = snprintf(error->text, error->size, "%s: ", error->path);
    va_list arguments;
    va_start(arguments, format);
    if (n >= 0 && (size_t)n < error->size) {
      vsnprintf(error->text + n, error->size - (size_t)n, format, arguments);
    }
    va_end(arguments);
  }
  return 0;
}

/* ---- the header's JSON: functions return where a value ends, or NULL if it is none ---- */

static const char* rankgrove_space(const char* p, const char* end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) ++p;
  return p;
}

static const char* rankgrove_skip_string(const char* p, const char* end) {
  if (p >= end || *p != '"') return NULL;
  for (++p; p < end; ++p) {
    if (*p == '"') return p + 1;
    if (*p == '\\') ++p;
  }
  return NULL;
}

static const char* rankgrove_skip(const char* p, const char* end, int depth) {
  if (p == NULL || depth > 64) return NULL;
  p = rankgrove_space(p, end);
  if (p >= end) return NULL;
  if (*p == '"') return rankgrove_skip_string(p, end);
  if (*p == '{' || *p == '[') {
    const char close = *p == '{' ? '}' : ']';
    p = rankgrove_space(p + 1, end);
    if (p < end && *p == close) return p + 1;
    for (;;) {
      if (close == '}') {
        p = rankgrove_skip_string(p, end);
        if (p == NULL) return NULL;
        p = rankgrove_space(p, end);
        if (p >= end || *p != ':') return NULL;
        ++p;
      }
      p = rankgrove_skip(p, end, depth + 1);
      if (p == NULL) return NULL;
      p = rankgrove_space(p, end);
      if (p >= end) return NULL;
      if (*p == close) return p + 1;
      if (*p != ',') return NULL;
      p = rankgrove_space(p + 1, end);
    }
  }
  { /* a number, true, false or null */
    const char* start = p;
    while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != ' ') ++p;
    return p > start ? p : NULL;
  }
}

/* The value of a key of an object, or NULL. */
static const char* rankgrove_member(const char* p, const char* end, const char* key) {
  if (p == NULL || rankgrove_skip(p, end, 0) == NULL) return NULL;
  p = rankgrove_space(p, end);
  if (*p != '{') return NULL;
  p = rankgrove_space(p + 1, end);
  while (p != NULL && p < end && *p == '"') {
    const char* after = rankgrove_skip_string(p, end);
    const int found =
        (size_t)(after - p) == strlen(key) + 2 && memcmp(p + 1, key, strlen(key)) == 0;
    p = rankgrove_space(rankgrove_space(after, end) + 1, end);
    if (found) return p;
    p = rankgrove_space(rankgrove_skip(p, end, 0), end);
    if (*p != ',') return NULL;
    p = rankgrove_space(p + 1, end);
  }
  return NULL;
}

/* The first or next entry of a list, or NULL at its end. */
static const char* rankgrove_first(const char* p, const char* end) {
  if (p == NULL || rankgrove_skip(p, end, 0) == NULL) return NULL;
  p = rankgrove_space(p, end);
  if (*p != '[') return NULL;
  p = rankgrove_space(p + 1, end);
  return *p == ']' ? NULL : p;
}

static const char* rankgrove_next(const char* p, const char* end) {
  p = rankgrove_space(rankgrove_skip(p, end, 0), end);
  return *p == ',' ? rankgrove_space(p + 1, end) : NULL;
}

static int rankgrove_is(const char* p, const char* end, const char* text) {
  const char* after = p == NULL ? NULL : rankgrove_skip_string(p, end);
  return after != NULL && (size_t)(after - p) == strlen(text) + 2 &&
         memcmp(p + 1, text, strlen(text)) == 0;
}

/* A whole number from 0 on, or -1. */
static int64_t rankgrove_whole(const char* p, const char* end) {
  int64_t number = 0;
  const char* start = p;
  if (p == NULL) return -1;
  for (; p < end && *p >= '0' && *p <= '9'; ++p) {
    if (number > INT64_MAX / 16) return -1;
    number = number * 10 + (*p - '0');
  }
  return p > start && (p == end || *p == ',' || *p == '}' || *p == ']') ? number : -1;
}

static int32_t rankgrove_hex(const char* p) {
  int32_t code = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

/* A copy of a string in UTF-8, or NULL. */
static char* rankgrove_text(const char* p, const char* end) {
  const char* after = rankgrove_skip_string(p, end);
  char* copy = after == NULL ? NULL : (char*)malloc((size_t)(after - p) + 1);
  char* out = copy;
  if (copy == NULL) return NULL;
  for (++p; p < after - 1; ++p) {
    int32_t code;
    if (*p != '\\') {
      *out++ = *p;
      continue;
    }
    ++p;
    switch (*p) {
      case 'b':
        *out++ = '\b';
        continue;
      case 'f':
        *out++ = '\f';
        continue;
      case 'n':
        *out++ = '\n';
        continue;
      case 'r':
        *out++ = '\r';
        continue;
      case 't':
        *out++ = '\t';
        continue;
      case 'u':
        break;
      default:
        *out++ = *p;
        continue;
    }
    code = after - p > 5 ? rankgrove_hex(p + 1) : -1;
    if (code < 0) {
      free(copy);
      return NULL;
    }
    p += 4;
    if (code >= 0xd800 && code < 0xdc00 && after - p > 7 && p[1] == '\\' && p[2] == 'u') {
      const int32_t low = rankgrove_hex(p + 3);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        p += 6;
      }
    }
    if (code < 0x80) {
      *out++ = (char)code;
    } else if (code < 0x800) {
      *out++ = (char)(0xc0 | code >> 6);
      *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      *out++ = (char)(0xe0 | code >> 12);
      *out++ = (char)(0x80 | (code >> 6 & 0x3f));
      *out++ = (char)(0x80 | (code & 0x3f));
    } else {
      *out++ = (char)(0xf0 | code >> 18);
      *out++ = (char)(0x80 | (code >> 12 & 0x3f));
      *out++ = (char)(0x80 | (code >> 6 & 0x3f));
      *out++ = (char)(0x80 | (code & 0x3f));
    }
  }
  *out = 0;
  return copy;
}

/* ---- the file ---- */

static uint32_t rankgrove_crc32(const unsigned char* data, size_t size) {
  uint32_t table[256], crc = 0xffffffffu;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
    table[i] = c;
  }
  for (size_t i = 0; i < size; ++i) crc = table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
  return ~crc;
}

static int rankgrove_read_file(rankgrove_model* model, const char* path, rankgrove_error* error) {
#if RANKGROVE_MAPS
  struct stat status;
  const int file = open(path, O_RDONLY);
  void* data;
  if (file < 0) return rankgrove_fail(error, "cannot be opened");
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 24) {
    close(file);
    return rankgrove_fail(error, "not a rankgrove model file");
  }
  data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (data == MAP_FAILED) return rankgrove_fail(error, "cannot be mapped");
  model->data = (unsigned char*)data;
  model->size = (size_t)status.st_size;
#else
  FILE* file = fopen(path, "rb");
  long size;
  if (file == NULL) return rankgrove_fail(error, "cannot be opened");
  fseek(file, 0, SEEK_END);
  size = ftell(file);
  rewind(file);
  model->data = size < 24 ? NULL : (unsigned char*)malloc((size_t)size);
  model->size = size < 24 ? 0 : (size_t)size;
  if (model->data == NULL || fread(model->data, 1, model->size, file) != model->size) {
    fclose(file);
    return rankgrove_fail(error, "not a rankgrove model file, or too large");
  }
  fclose(file);
#endif
  return 1;
}

typedef struct {
  const char *name, *type, *other_type;
  int64_t count; /* that it must have; -1: any */
  int optional;
  const void* data; /* found */
  int is_other;
} rankgrove_array;

/* Finds an array "model/..." of the header's table, and checks its place and checksum. */
static int rankgrove_find(const rankgrove_model* model, const char* table, const char* end,
                          size_t begin, rankgrove_array* wanted, rankgrove_error* error) {
  for (const char* entry = rankgrove_first(table, end); entry != NULL;
       entry = rankgrove_next(entry, end)) {
    const char* type = rankgrove_member(entry, end, "dtype");
    const char* shape = rankgrove_first(rankgrove_member(entry, end, "shape"), end);
    const int64_t count = rankgrove_whole(shape, end);
    const int64_t offset = rankgrove_whole(rankgrove_member(entry, end, "offset"), end);
    const int64_t crc = rankgrove_whole(rankgrove_member(entry, end, "crc32"), end);
    size_t width, room;
    if (!rankgrove_is(rankgrove_member(entry, end, "name"), end, wanted->name)) continue;
    wanted->is_other = wanted->other_type != NULL && rankgrove_is(type, end, wanted->other_type);
    if (!wanted->is_other && !rankgrove_is(type, end, wanted->type)) {
      return rankgrove_fail(error, "%s has an unknown type", wanted->name);
    }
    width = (size_t)((wanted->is_other ? wanted->other_type : wanted->type)[2] - '0');
    room = model->size - begin;
    if (count < 0 || offset < 0 || offset % 64 != 0 || (uint64_t)offset > room ||
        (uint64_t)count > (room - (size_t)offset) / width || rankgrove_next(shape, end) != NULL) {
      return rankgrove_fail(error, "%s does not fit the file", wanted->name);
    }
    if (wanted->count >= 0 && count != wanted->count) {
      return rankgrove_fail(error, "%s has %lld values, not %lld", wanted->name, (long long)count,
                            (long long)wanted->count);
    }
    wanted->count = count;
    wanted->data = model->data + begin + offset;
    if (rankgrove_crc32(model->data + begin + offset, (size_t)count * width) != (uint32_t)crc) {
      return rankgrove_fail(error, "%s is damaged (wrong checksum)", wanted->name);
    }
    return 1;
  }
  return wanted->optional ? 1 : rankgrove_fail(error, "%s is not there", wanted->name);
}

static int64_t rankgrove_feature(const rankgrove_model* model, int64_t node) {
  return model->feature16 != NULL ? model->feature16[node] : model->feature32[node];
}

/* Checks that every walk stays within its tree and comes to an end. */
static int rankgrove_check(const rankgrove_model* model, rankgrove_error* error) {
  if (model->tree_offsets[0] != 0 || model->tree_offsets[model->n_trees] != model->n_nodes) {
    return rankgrove_fail(error, "the trees do not hold all nodes");
  }
  for (int64_t tree = 0; tree < model->n_trees; ++tree) {
    const int64_t first = model->tree_offsets[tree], last = model->tree_offsets[tree + 1];
    if (first < 0 || last <= first || last > model->n_nodes) {
      return rankgrove_fail(error, "tree %lld has no nodes", (long long)tree);
    }
    for (int64_t node = first; node < last; ++node) {
      const int64_t left = model->left[node], feature = rankgrove_feature(model, node);
      const int64_t set = model->set_of_node != NULL ? model->set_of_node[node] : -1;
      if (left < 0) continue;
      if (set < -1 || set >= model->n_sets || left <= node - first || left + 1 >= last - first ||
          feature < 0 || feature >= model->n_features) {
        return rankgrove_fail(error, "node %lld of tree %lld makes no sense",
                              (long long)(node - first), (long long)tree);
      }
    }
  }
  return 1;
}

/* Checks that the words of every set of categories are there. */
static int rankgrove_check_sets(const rankgrove_model* model, int64_t n_words,
                                rankgrove_error* error) {
  int64_t last = 0;
  for (int64_t set = 0; set <= model->n_sets; ++set) {
    const int64_t offset = model->set_offsets[set];
    if (offset < last || offset > n_words || (set == 0 && offset != 0)) {
      return rankgrove_fail(error, "set %lld of categories makes no sense", (long long)set);
    }
    last = offset;
  }
  return 1;
}

static int rankgrove_read_names(rankgrove_model* model, const char* list, const char* end) {
  int64_t found = 0;
  const char* entry = rankgrove_first(list, end);
  if (entry == NULL) return 1;
  model->names = (char**)calloc((size_t)model->n_features + 1, sizeof(char*));
  for (; model->names != NULL && entry != NULL && found < model->n_features; ++found) {
    model->names[found] = rankgrove_text(entry, end);
    if (model->names[found] == NULL) return 0;
    entry = rankgrove_next(entry, end);
  }
  return model->names != NULL && entry == NULL && found == model->n_features;
}

static int rankgrove_read_trees(rankgrove_model* model, const char* header, const char* end,
                                size_t begin, rankgrove_error* error) {
  enum {
    OFFSETS,
    WEIGHTS,
    BASE,
    FEATURE,
    THRESHOLD,
    LEFT,
    MISSING,
    VALUE,
    FILL,
    UP_TO,
    SET,
    SET_OFFSETS,
    SET_WORDS,
    COUNT
  };
  rankgrove_array arrays[COUNT] = {
      {"model/trees/tree_offsets", "<i8", NULL, -1, 0, NULL, 0},
      {"model/trees/tree_weights", "<f8", NULL, -1, 0, NULL, 0},
      {"model/trees/base_score", "<f8", NULL, 1, 0, NULL, 0},
      {"model/trees/feature", "<i2", "<i4", -1, 0, NULL, 0},
      {"model/trees/threshold", "<f4", NULL, -1, 0, NULL, 0},
      {"model/trees/left", "<i4", NULL, -1, 0, NULL, 0},
      {"model/trees/missing_left", "|u1", NULL, -1, 0, NULL, 0},
      {"model/trees/value", "<f4", "<f8", -1, 0, NULL, 0},
      {"model/fill", "<f4", NULL, -1, 1, NULL, 0},
      {"model/missing_up_to", "<f4", NULL, -1, 1, NULL, 0},
      {"model/trees/category_sets/of_node", "<i4", NULL, -1, 1, NULL, 0},
      {"model/trees/category_sets/offsets", "<i8", NULL, -1, 1, NULL, 0},
      {"model/trees/category_sets/words", "<u4", NULL, -1, 1, NULL, 0},
  };
  const char* table = rankgrove_member(header, end, "arrays");
  for (int i = 0; i < COUNT; ++i) {
    if (i == WEIGHTS) arrays[i].count = arrays[OFFSETS].count - 1;
    if (i > FEATURE && i <= VALUE) arrays[i].count = arrays[FEATURE].count;
    if (i == FILL || i == UP_TO) arrays[i].count = model->n_features;
    if (i == SET) arrays[i].count = arrays[FEATURE].count;
    if (i > SET && arrays[SET].data != NULL) arrays[i].optional = 0;
    if (!rankgrove_find(model, table, end, begin, &arrays[i], error)) return 0;
    if (i == OFFSETS && arrays[i].count < 1) return rankgrove_fail(error, "there are no trees");
  }
  model->n_trees = arrays[OFFSETS].count - 1;
  model->n_nodes = arrays[FEATURE].count;
  model->tree_offsets = (const int64_t*)arrays[OFFSETS].data;
  model->tree_weights = (const double*)arrays[WEIGHTS].data;
  model->base_score = *(const double*)arrays[BASE].data;
  if (arrays[FEATURE].is_other) {
    model->feature32 = (const int32_t*)arrays[FEATURE].data;
  } else {
    model->feature16 = (const int16_t*)arrays[FEATURE].data;
  }
  model->threshold = (const float*)arrays[THRESHOLD].data;
  model->left = (const int32_t*)arrays[LEFT].data;
  model->missing_left = (const unsigned char*)arrays[MISSING].data;
  if (arrays[VALUE].is_other) {
    model->value64 = (const double*)arrays[VALUE].data;
  } else {
    model->value32 = (const float*)arrays[VALUE].data;
  }
  model->fill = (const float*)arrays[FILL].data;
  model->missing_up_to = (const float*)arrays[UP_TO].data;
  if (arrays[SET].data != NULL) {
    model->set_of_node = (const int32_t*)arrays[SET].data;
    model->set_offsets = (const int64_t*)arrays[SET_OFFSETS].data;
    model->set_words = (const uint32_t*)arrays[SET_WORDS].data;
    model->n_sets = arrays[SET_OFFSETS].count - 1;
    if (!rankgrove_check_sets(model, arrays[SET_WORDS].count, error)) return 0;
  }
  return rankgrove_check(model, error);
}

static int rankgrove_read(rankgrove_model* model, const char* path, rankgrove_error* error) {
  const uint16_t one = 1;
  uint32_t version, length, crc;
  const char *header, *end, *found;
  if (!rankgrove_read_file(model, path, error)) return 0;
  if (memcmp(model->data, "RGROVE\r\n", 8) != 0) {
    return rankgrove_fail(error, "not a rankgrove model file");
  }
  if (*(const unsigned char*)&one != 1) {
    return rankgrove_fail(error, "this machine is not little-endian");
  }
  memcpy(&version, model->data + 8, 4);
  memcpy(&length, model->data + 12, 4);
  memcpy(&crc, model->data + 16, 4);
  if (version != 3 && version != 4) {
    return rankgrove_fail(error, "format version %u: load and save it with rankgrove",
                          (unsigned)version);
  }
  if ((size_t)length + 24 > model->size || (length + 24) % 64 != 0 ||
      rankgrove_crc32(model->data + 24, length) != crc) {
    return rankgrove_fail(error, "the header is damaged");
  }
  header = (const char*)model->data + 24;
  end = header + length;
  found = rankgrove_member(header, end, "model");
  if (!rankgrove_is(rankgrove_member(found, end, "kind"), end, "trees")) {
    return rankgrove_fail(error, "this is not a model of trees on documents");
  }
  if (!rankgrove_is(rankgrove_member(found, end, "link"), end, "identity")) {
    return rankgrove_fail(error, "its score is more than a sum of trees");
  }
  model->n_features = rankgrove_whole(rankgrove_member(found, end, "n_features"), end);
  if (model->n_features < 0 || model->n_features > INT32_MAX ||
      !rankgrove_read_names(model, rankgrove_member(found, end, "feature_names"), end)) {
    return rankgrove_fail(error, "the header makes no sense");
  }
  return rankgrove_read_trees(model, header, end, 24 + (size_t)length, error);
}

/* ---- trees that are walked ---- */

static double rankgrove_value(const rankgrove_model* model, int64_t node) {
  return model->value32 != NULL ? (double)model->value32[node] : model->value64[node];
}

/* Values of up to this size are missing; none are if it is negative, but for NaN. */
static float rankgrove_up_to(const rankgrove_model* model, int64_t feature) {
  return model->missing_up_to != NULL ? model->missing_up_to[feature] : -1.0f;
}

/* What stands for a missing value: NaN goes the way of each node's missing values. */
static float rankgrove_fill(const rankgrove_model* model, int64_t feature) {
  return model->fill != NULL ? model->fill[feature] : NAN;
}

/* Whether a category is in the set of a node; values that are no code go the way of missing ones.
 */
static int rankgrove_in_set(const rankgrove_model* model, int64_t node, float x, float up_to) {
  const int64_t* words = model->set_offsets + model->set_of_node[node];
  uint32_t code;
  if (!(fabsf(x) > up_to && x >= 0.0f && x < 16777216.0f)) return model->missing_left[node];
  code = (uint32_t)x;
  if ((float)code != x) return model->missing_left[node];
  if (code / 32 >= words[1] - words[0]) return 0;
  return model->set_words[words[0] + code / 32] >> code % 32 & 1;
}

static int rankgrove_goes_left(const rankgrove_model* model, int64_t node, const float* row) {
  const int64_t feature = rankgrove_feature(model, node);
  const float up_to = rankgrove_up_to(model, feature);
  float x = row[feature];
  if (model->set_of_node != NULL && model->set_of_node[node] >= 0) {
    return rankgrove_in_set(model, node, x, up_to);
  }
  if (!(fabsf(x) > up_to)) x = rankgrove_fill(model, feature);
  return x == x ? x <= model->threshold[node] : model->missing_left[node];
}

/* The weighted value of a document's leaf. */
static double rankgrove_walk(const rankgrove_model* model, int64_t tree, const float* row) {
  const int64_t first = model->tree_offsets[tree];
  int64_t node = first;
  /* volatile: the product is rounded before it is added, also where a compiler would fuse */
  volatile double product;
  while (model->left[node] >= 0) {
    node = first + model->left[node] + !rankgrove_goes_left(model, node, row);
  }
  product = model->tree_weights[tree] * rankgrove_value(model, node);
  return product;
}

/* ---- trees in bits ----
 *
 * The leaves of a tree are bits, numbered from left to right. All splits of the tree are tested,
 * whatever the outcomes of others. If a document goes right at a split, it cannot come to the
 * leaves on the left of that split: their bits are cleared. The lowest bit that stays is its leaf,
 * because each leaf before it is on the left of a split where the document goes right. An example:
 *
 *              a <= 5                 goes right at      leaves that stay
 *             /      \                a <= 5             100  (leaf 2)
 *        b <= 2      leaf 2           b <= 2             110  (leaves 2 and 1)
 *       /      \
 *   leaf 0    leaf 1
 *
 * a = 3, b = 4 goes left at a <= 5 and right at b <= 2:  111 & 110 = 110, leaf 1.
 * a = 7, b = 4 goes right at both:                 111 & 100 & 110 = 100, leaf 2.
 *
 * No step depends on an earlier one, so that one instruction takes a step of many documents. Splits
 * with the same test are one split, so that an oblivious tree has one per level. This is
 * QuickScorer (Lucchese et al. 2015) with documents side by side.
 */

#if RANKGROVE_VECTOR_BYTES > 0

enum { RANKGROVE_MOST_LEAVES = 64, RANKGROVE_MOST_NODES = 2 * RANKGROVE_MOST_LEAVES - 1 };
enum { RANKGROVE_MOST_VECTORS = 8 }; /* of documents that a kernel takes */

/* A tree that is brought into bits. `column` of a split is 2 * feature + missing_left so far. */
typedef struct {
  const rankgrove_model* model;
  int64_t tree, n_nodes_left;
  int32_t n_leaves, n_splits;
  double values[RANKGROVE_MOST_LEAVES];
  rankgrove_split splits[RANKGROVE_MOST_LEAVES];
} rankgrove_growth;

static void rankgrove_add_split(rankgrove_growth* growth, int64_t node, uint64_t stay) {
  const rankgrove_model* model = growth->model;
  const uint32_t column =
      2 * (uint32_t)rankgrove_feature(model, node) + (model->missing_left[node] != 0);
  const float threshold = model->threshold[node] + 0.0f; /* -0 becomes 0 */
  rankgrove_split* split = growth->splits;
  rankgrove_split* last = split + growth->n_splits;
  while (split < last && (split->column != column || split->threshold != threshold)) ++split;
  if (split == last) {
    split->column = column;
    split->threshold = threshold;
    split->stay[0] = split->stay[1] = 0xffffffffu;
    ++growth->n_splits;
  }
  split->stay[0] &= (uint32_t)stay;
  split->stay[1] &= (uint32_t)(stay >> 32);
}

/* Adds a node and those below it. Returns 0 if the tree must be walked. */
static int rankgrove_add_node(rankgrove_growth* growth, int64_t node) {
  const rankgrove_model* model = growth->model;
  const int64_t left = model->tree_offsets[growth->tree] + model->left[node];
  const int32_t first_leaf = growth->n_leaves;
  if (growth->n_nodes_left-- == 0) return 0; /* nodes with two parents */
  if (model->left[node] < 0) {
    if (growth->n_leaves == RANKGROVE_MOST_LEAVES) return 0;
    growth->values[growth->n_leaves++] =
        model->tree_weights[growth->tree] * rankgrove_value(model, node);
    return 1;
  }
  if (model->set_of_node != NULL && model->set_of_node[node] >= 0) return 0;
  if (!(fabsf(model->threshold[node]) <= FLT_MAX)) return 0;
  if (!rankgrove_add_node(growth, left) || growth->n_leaves == RANKGROVE_MOST_LEAVES) return 0;
  rankgrove_add_split(growth, node,
                      ~(((uint64_t)1 << growth->n_leaves) - ((uint64_t)1 << first_leaf)));
  return rankgrove_add_node(growth, left + 1);
}

static int rankgrove_compare(const void* a, const void* b) {
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

/* Numbers what splits test. */
static int rankgrove_number_columns(rankgrove_model* model, int64_t n_splits) {
  uint32_t* columns = (uint32_t*)malloc(((size_t)n_splits + 1) * sizeof(uint32_t));
  if (columns == NULL) return 0;
  model->columns = columns;
  for (int64_t i = 0; i < n_splits; ++i) columns[i] = model->splits[i].column;
  qsort(columns, (size_t)n_splits, sizeof(uint32_t), rankgrove_compare);
  for (int64_t i = 0; i < n_splits; ++i) {
    if (i == 0 || columns[i] != columns[model->n_columns - 1]) {
      columns[model->n_columns++] = columns[i];
    }
  }
  for (int64_t i = 0; i < n_splits; ++i) {
    const void* found = bsearch(&model->splits[i].column, columns, (size_t)model->n_columns,
                                sizeof(uint32_t), rankgrove_compare);
    model->splits[i].column = (uint32_t)((const uint32_t*)found - columns);
  }
  return (uint64_t)model->n_columns < SIZE_MAX / 1024; /* the bytes of a block can be counted */
}

/* Brings the trees into bits that can be, after all nodes were checked. Returns 0 if there is not
 * enough memory. */
static int rankgrove_grow_bits(rankgrove_model* model) {
  rankgrove_growth growth;
  size_t room = 0;
  int64_t n_splits = 0, n_values = 0;
  for (int64_t tree = 0; tree < model->n_trees; ++tree) {
    const int64_t n_nodes = model->tree_offsets[tree + 1] - model->tree_offsets[tree];
    if (n_nodes <= RANKGROVE_MOST_NODES) room += (size_t)n_nodes / 2 + 1;
  }
  if (room == 0) return 1;
  model->bit_trees =
      (rankgrove_bit_tree*)calloc((size_t)model->n_trees, sizeof(rankgrove_bit_tree));
  model->splits = (rankgrove_split*)malloc(room * sizeof(rankgrove_split));
  model->values = (double*)calloc(room + 32, sizeof(double)); /* see rankgrove_add_four */
  if (model->bit_trees == NULL || model->splits == NULL || model->values == NULL) return 0;
  growth.model = model;
  for (int64_t tree = 0; tree < model->n_trees; ++tree) {
    rankgrove_bit_tree* bits = model->bit_trees + tree;
    growth.tree = tree;
    growth.n_nodes_left = model->tree_offsets[tree + 1] - model->tree_offsets[tree];
    growth.n_leaves = growth.n_splits = 0;
    if (growth.n_nodes_left > RANKGROVE_MOST_NODES ||
        !rankgrove_add_node(&growth, model->tree_offsets[tree])) {
      continue;
    }
    bits->n_words = growth.n_leaves <= 32 ? 1 : 2;
    bits->n_splits = growth.n_splits;
    bits->first_split = n_splits;
    bits->first_value = n_values;
    memcpy(model->splits + n_splits, growth.splits,
           (size_t)growth.n_splits * sizeof(rankgrove_split));
    n_splits += growth.n_splits;
    memcpy(model->values + n_values, growth.values, (size_t)growth.n_leaves * sizeof(double));
    n_values += growth.n_leaves;
  }
  return rankgrove_number_columns(model, n_splits);
}

/* On Windows, GCC does not align wide vectors on the stack. */
#if defined(__x86_64__) && !defined(_WIN32)
#define RANKGROVE_WIDE 1
#define RANKGROVE_AVX2 __attribute__((target("avx2")))
#define RANKGROVE_AVX512 __attribute__((target("avx512f,avx512cd")))

#include <immintrin.h>

/* The values of eight of a tree's 32 leaves. */
RANKGROVE_AVX512 static inline __m512d rankgrove_look_up(const __m512d* values, __m512i leaf) {
  const __m512d lower = _mm512_permutex2var_pd(values[0], leaf, values[1]);
  const __m512d upper = _mm512_permutex2var_pd(values[2], leaf, values[3]);
  return _mm512_mask_blend_pd(_mm512_test_epi64_mask(leaf, _mm512_set1_epi64(16)), lower, upper);
}

/* Adds the values of four trees of one word to the sums of documents, by the same additions as
 * RANKGROVE_KERNEL: the values of a tree are kept in four registers, in which those of eight
 * documents are looked up at once. `leaves` has n_lanes words for each tree. Of each tree 32 values
 * are read, whether it has so many or not. */
RANKGROVE_AVX512 static inline void rankgrove_add_four(const uint32_t* leaves, size_t n_lanes,
                                                       const double* const* values, size_t n_rows,
                                                       double* sums) {
  __m512d of_tree[4][4];
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 4; ++i) of_tree[t][i] = _mm512_loadu_pd(values[t] + 8 * i);
  }
  for (size_t i = 0; i < n_rows; i += 8) {
    const __mmask8 present = n_rows - i < 8 ? (__mmask8)((1u << (n_rows - i)) - 1) : 0xff;
    __m512d sum = _mm512_maskz_loadu_pd(present, sums + i);
    for (int t = 0; t < 4; ++t) {
      const __m256i eight = _mm256_loadu_si256((const __m256i*)(leaves + (size_t)t * n_lanes + i));
      const __m512i stay = _mm512_maskz_cvtepu32_epi64(0xff, eight);
      const __m512i lowest = _mm512_and_si512(stay, _mm512_sub_epi64(_mm512_setzero_si512(), stay));
      const __m512i leaf = _mm512_sub_epi64(_mm512_set1_epi64(63), _mm512_lzcnt_epi64(lowest));
      sum = _mm512_add_pd(sum, rankgrove_look_up(of_tree[t], leaf));
    }
    _mm512_mask_storeu_pd(sums + i, present, sum);
  }
}

#define RANKGROVE_ADD_FOUR rankgrove_add_four
#else
#define RANKGROVE_ADD_FOUR(leaves, n_lanes, values, n_rows, sums) (void)0
#endif

/* A kernel for vectors of `width` bytes, trees of `word_count` words and `vector_count` vectors of
 * documents, whose values of a column lie side by side. The words of as many documents as fit into
 * registers are kept there while the splits of a tree are read once. Values are added up for four
 * trees at a time, in their order, so that a sum is read and written once for all of them.
 *
 * With AVX-512, one word and two vectors or more, documents are compared by the sign of a
 * difference, which is exact: thresholds are finite and not -0, and no value is NaN. A comparison
 * of such vectors gives a mask, which takes longer to become words. (With two words or other
 * vectors, comparisons are quicker.)
 */
#ifdef __clang__
#define RANKGROVE_EACH(v, n) for (int v = 0; v < (n); ++v)
#else
#define RANKGROVE_EACH(v, n) _Pragma("GCC unroll 8") for (int v = 0; v < (n); ++v)
#endif
#define RANKGROVE_NAME(width, words, vectors) rankgrove_kernel_##width##_##words##_##vectors
#define RANKGROVE_KERNEL(target, width, word_count, vector_count)                            \
  target static void RANKGROVE_NAME(width, word_count, vector_count)(                        \
      const rankgrove_model* model, int64_t tree, int64_t last_tree, const float* columns,   \
      size_t n_rows, double* sums) {                                                         \
    typedef float vector __attribute__((vector_size(width), may_alias));                     \
    typedef uint32_t words __attribute__((vector_size(width)));                              \
    typedef int32_t signs __attribute__((vector_size(width)));                               \
    enum { n_words = word_count, n = vector_count, n_lanes = n * width / 4, n_trees = 4 };   \
    enum { by_sign = width == 64 && n_words == 1 && n > 1 };                                 \
    const words none = {0};                                                                  \
    uint32_t leaves[n_trees][n_words][n_lanes];                                              \
    const double* values[n_trees];                                                           \
    while (tree < last_tree) {                                                               \
      int64_t group = 0;                                                                     \
      for (; group < n_trees && tree < last_tree; ++group, ++tree) {                         \
        const rankgrove_bit_tree* bits = model->bit_trees + tree;                            \
        const rankgrove_split* split = model->splits + bits->first_split;                    \
        const rankgrove_split* last = split + bits->n_splits;                                \
        words low[n], high[n];                                                               \
        RANKGROVE_EACH(v, n) low[v] = high[v] = ~none;                                       \
        for (; split < last; ++split) {                                                      \
          const vector* x = (const vector*)columns + n * (size_t)split->column;              \
          RANKGROVE_EACH(v, n) {                                                             \
            const words left = by_sign ? ~(words)((signs)(split->threshold - x[v]) >> 31)    \
                                       : (words)(x[v] <= split->threshold);                  \
            low[v] &= left | split->stay[0];                                                 \
            if (n_words == 2) high[v] &= left | split->stay[1];                              \
          }                                                                                  \
        }                                                                                    \
        memcpy(leaves[group][0], low, sizeof low);                                           \
        if (n_words == 2) memcpy(leaves[group][n_words - 1], high, sizeof high);             \
        values[group] = model->values + bits->first_value;                                   \
      }                                                                                      \
      if (group == n_trees && by_sign) {                                                     \
        RANKGROVE_ADD_FOUR(leaves[0][0], n_lanes, values, n_rows, sums);                     \
        continue;                                                                            \
      }                                                                                      \
      if (group == n_trees) {                                                                \
        for (size_t i = 0; i < n_rows; ++i) {                                                \
          double sum = sums[i];                                                              \
          RANKGROVE_EACH(t, n_trees) sum += values[t][RANKGROVE_LEAF(leaves[t])];            \
          sums[i] = sum;                                                                     \
        }                                                                                    \
        continue;                                                                            \
      }                                                                                      \
      for (int64_t t = 0; t < group; ++t) {                                                  \
        for (size_t i = 0; i < n_rows; ++i) sums[i] += values[t][RANKGROVE_LEAF(leaves[t])]; \
      }                                                                                      \
    }                                                                                        \
  }
/* The lowest leaf that stays for document i. */
#define RANKGROVE_LEAF(of_tree)                  \
  (n_words == 1 ? __builtin_ctz((of_tree)[0][i]) \
                : __builtin_ctzll((uint64_t)(of_tree)[n_words - 1][i] << 32 | (of_tree)[0][i]))

/* The kernels for 1 to RANKGROVE_MOST_VECTORS vectors. */
#define RANKGROVE_KERNELS(target, width, words)                                                 \
  RANKGROVE_KERNEL(target, width, words, 1)                                                     \
  RANKGROVE_KERNEL(target, width, words, 2)                                                     \
  RANKGROVE_KERNEL(target, width, words, 3)                                                     \
  RANKGROVE_KERNEL(target, width, words, 4)                                                     \
  RANKGROVE_KERNEL(target, width, words, 5)                                                     \
  RANKGROVE_KERNEL(target, width, words, 6)                                                     \
  RANKGROVE_KERNEL(target, width, words, 7)                                                     \
  RANKGROVE_KERNEL(target, width, words, 8)                                                     \
  static const rankgrove_kernel rankgrove_kernels_##width##_##words[RANKGROVE_MOST_VECTORS] = { \
      RANKGROVE_NAME(width, words, 1), RANKGROVE_NAME(width, words, 2),                         \
      RANKGROVE_NAME(width, words, 3), RANKGROVE_NAME(width, words, 4),                         \
      RANKGROVE_NAME(width, words, 5), RANKGROVE_NAME(width, words, 6),                         \
      RANKGROVE_NAME(width, words, 7), RANKGROVE_NAME(width, words, 8)};

RANKGROVE_KERNELS(, 16, 1)
RANKGROVE_KERNELS(, 16, 2)
#ifdef RANKGROVE_WIDE
RANKGROVE_KERNELS(RANKGROVE_AVX2, 32, 1)
RANKGROVE_KERNELS(RANKGROVE_AVX2, 32, 2)
RANKGROVE_KERNELS(RANKGROVE_AVX512, 64, 1)
RANKGROVE_KERNELS(RANKGROVE_AVX512, 64, 2)
#endif

static void rankgrove_choose_kernels(rankgrove_model* model) {
  model->vector_rows = 4;
  model->kernels[0] = rankgrove_kernels_16_1;
  model->kernels[1] = rankgrove_kernels_16_2;
#ifdef RANKGROVE_WIDE
  if (RANKGROVE_VECTOR_BYTES >= 64 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512cd")) {
    model->vector_rows = 16;
    model->kernels[0] = rankgrove_kernels_64_1;
    model->kernels[1] = rankgrove_kernels_64_2;
  } else if (RANKGROVE_VECTOR_BYTES >= 32 && __builtin_cpu_supports("avx2")) {
    model->vector_rows = 8;
    model->kernels[0] = rankgrove_kernels_32_1;
    model->kernels[1] = rankgrove_kernels_32_2;
  }
#endif
}

#endif /* RANKGROVE_VECTOR_BYTES > 0 */

/* ---- what callers see ---- */

rankgrove_model* rankgrove_open(const char* path, char* error, size_t error_size) {
  rankgrove_error failure = {path, error, error_size};
  rankgrove_model* model = (rankgrove_model*)calloc(1, sizeof(rankgrove_model));
  if (model == NULL) {
    rankgrove_fail(&failure, "not enough memory");
    return NULL;
  }
  if (!rankgrove_read(model, path, &failure)) {
    rankgrove_close(model);
    return NULL;
  }
#if RANKGROVE_VECTOR_BYTES > 0
  rankgrove_choose_kernels(model);
  if (!rankgrove_grow_bits(model)) {
    rankgrove_fail(&failure, "not enough memory");
    rankgrove_close(model);
    return NULL;
  }
#endif
  return model;
}

void rankgrove_close(rankgrove_model* model) {
  if (model == NULL) return;
  if (model->names != NULL) {
    for (int64_t i = 0; i < model->n_features; ++i) free(model->names[i]);
    free(model->names);
  }
  free(model->bit_trees);
  free(model->splits);
  free(model->values);
  free(model->columns);
#if RANKGROVE_MAPS
  if (model->data != NULL) munmap(model->data, model->size);
#else
  free(model->data);
#endif
  free(model);
}

int rankgrove_n_features(const rankgrove_model* model) { return (int)model->n_features; }

const char* rankgrove_feature_name(const rankgrove_model* model, int feature) {
  if (model->names == NULL || feature < 0 || feature >= model->n_features) return NULL;
  return model->names[feature];
}

/* Scores a document by walks alone. */
static double rankgrove_score_row(const rankgrove_model* model, const float* row) {
  double sum = model->base_score;
  for (int64_t tree = 0; tree < model->n_trees; ++tree) sum += rankgrove_walk(model, tree, row);
  return sum;
}

#if RANKGROVE_VECTOR_BYTES > 0

/* Writes what splits test, `n_lanes` values for each column. Missing values that nothing fills are
 * -infinity for splits that send them left, which is <= every threshold, and infinity for others.
 */
static void rankgrove_fill_columns(const rankgrove_model* model, const float* rows, size_t n_rows,
                                   size_t stride, size_t n_lanes, float* columns) {
  for (int64_t column = 0; column < model->n_columns; ++column) {
    const uint32_t feature = model->columns[column] / 2;
    const int missing_left = model->columns[column] % 2;
    const float up_to = rankgrove_up_to(model, feature), fill = rankgrove_fill(model, feature);
    const float missing = fill == fill ? fill : missing_left ? -INFINITY : INFINITY;
    const float* x = rows + feature;
    float* values = columns + (size_t)column * n_lanes;
    for (size_t i = 0; i < n_rows; ++i) {
      values[i] = fabsf(x[i * stride]) > up_to ? x[i * stride] : missing;
    }
  }
}

/* Scores a block of documents: trees in bits by kernels, others by walks, in the order of trees.
 * `columns` has room for RANKGROVE_MOST_VECTORS vectors of each column. */
static void rankgrove_score_block(const rankgrove_model* model, const float* rows, size_t n_rows,
                                  size_t stride, float* columns, double* scores) {
  const size_t n_vectors = (n_rows + model->vector_rows - 1) / model->vector_rows;
  rankgrove_fill_columns(model, rows, n_rows, stride, n_vectors * model->vector_rows, columns);
  for (size_t i = 0; i < n_rows; ++i) scores[i] = model->base_score;
  for (int64_t tree = 0, next; tree < model->n_trees; tree = next) {
    const int32_t n_words = model->bit_trees[tree].n_words;
    for (next = tree + 1; next < model->n_trees; ++next) {
      if (model->bit_trees[next].n_words != n_words) break;
    }
    if (n_words > 0) {
      model->kernels[n_words - 1][n_vectors - 1](model, tree, next, columns, n_rows, scores);
      continue;
    }
    for (size_t i = 0; i < n_rows; ++i) {
      for (int64_t t = tree; t < next; ++t) {
        scores[i] += rankgrove_walk(model, t, rows + i * stride);
      }
    }
  }
}

/* Scores documents in blocks of about equal size. Returns how many it has scored: a block takes
 * about as long as walks of three documents, so that fewer than four are left, and all without
 * memory. */
static size_t rankgrove_score_blocks(const rankgrove_model* model, const float* rows, size_t n_rows,
                                     size_t stride, double* scores) {
  const size_t vector = 64; /* bytes, of the widest */
  const size_t most_rows = RANKGROVE_MOST_VECTORS * model->vector_rows;
  void* memory = model->bit_trees == NULL || n_rows < 4
                     ? NULL
                     : calloc(1, (size_t)model->n_columns * most_rows * sizeof(float) + vector);
  float* columns = (float*)(((uintptr_t)memory + vector - 1) / vector * vector);
  size_t done = 0;
  if (memory == NULL) return 0;
  while (n_rows - done >= 4) {
    const size_t left = n_rows - done;
    const size_t n_vectors = (left + model->vector_rows - 1) / model->vector_rows;
    const size_t n_blocks = (n_vectors + RANKGROVE_MOST_VECTORS - 1) / RANKGROVE_MOST_VECTORS;
    const size_t most = (n_vectors + n_blocks - 1) / n_blocks * model->vector_rows;
    const size_t n = left < most ? left : most;
    rankgrove_score_block(model, rows + done * stride, n, stride, columns, scores + done);
    done += n;
  }
  free(memory);
  return done;
}

#endif /* RANKGROVE_VECTOR_BYTES > 0 */

void rankgrove_score(const rankgrove_model* model, const float* rows, size_t n_rows, size_t stride,
                     double* scores) {
  size_t done = 0;
#if RANKGROVE_VECTOR_BYTES > 0
  done = rankgrove_score_blocks(model, rows, n_rows, stride, scores);
#endif
  for (; done < n_rows; ++done) scores[done] = rankgrove_score_row(model, rows + done * stride);
}

#endif /* RANKGROVE_IMPLEMENTATION */
