/* Scores rankgrove's model files (.rg, format versions 3 and 4) from C, with the bits of rankgrove itself.
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
  char** names; /* or NULL */
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
      if (set < -1 || set >= model->n_sets || left <= node - first || left + 1 >= last - first || feature < 0 ||
          feature >= model->n_features) {
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
  return model;
}

void rankgrove_close(rankgrove_model* model) {
  if (model == NULL) return;
  if (model->names != NULL) {
    for (int64_t i = 0; i < model->n_features; ++i) free(model->names[i]);
    free(model->names);
  }
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

/* Whether a category is in the set of a node; values that are no code go the way of missing ones. */
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
  const float x = row[feature];
  const float up_to = model->missing_up_to != NULL ? model->missing_up_to[feature] : -1.0f;
  if (model->set_of_node != NULL && model->set_of_node[node] >= 0) {
    return rankgrove_in_set(model, node, x, up_to);
  }
  if (fabsf(x) > up_to) return x <= model->threshold[node]; /* false for NaN */
  if (model->fill != NULL && model->fill[feature] == model->fill[feature]) {
    return model->fill[feature] <= model->threshold[node];
  }
  return model->missing_left[node];
}

void rankgrove_score(const rankgrove_model* model, const float* rows, size_t n_rows, size_t stride,
                     double* scores) {
  for (size_t i = 0; i < n_rows; ++i) {
    const float* row = rows + i * stride;
    double sum = model->base_score;
    for (int64_t tree = 0; tree < model->n_trees; ++tree) {
      const int64_t first = model->tree_offsets[tree];
      int64_t node = first;
      /* volatile: the product is rounded before it is added, also where a compiler would fuse */
      volatile double product;
      while (model->left[node] >= 0) {
        node = first + model->left[node] + !rankgrove_goes_left(model, node, row);
      }
      product = model->tree_weights[tree] *
                (model->value32 != NULL ? (double)model->value32[node] : model->value64[node]);
      sum += product;
    }
    scores[i] = sum;
  }
}

#endif /* RANKGROVE_IMPLEMENTATION */
