/* Opens and scores each file that is named: none may do harm, whatever it holds. */
#define RANKGROVE_IMPLEMENTATION
#include "rankgrove.h"

int main(int n_arguments, char** arguments) {
  int n_models = 0;
  for (int i = 1; i < n_arguments; ++i) {
    char error[200];
    rankgrove_model* model = rankgrove_open(arguments[i], error, sizeof error);
    if (model == NULL) continue;
    const int n_features = rankgrove_n_features(model);
    for (int j = 0; j < n_features && j < 1000; ++j) rankgrove_feature_name(model, j);
    if (n_features <= 100000) {
      enum { N_ROWS = 21 }; /* for kernels; three documents would be walked */
      double scores[N_ROWS];
      float* rows = (float*)malloc((N_ROWS * (size_t)n_features + 1) * sizeof(float));
      for (int j = 0; j < N_ROWS * n_features; ++j) rows[j] = j % 7 == 0 ? NAN : (float)(j % 5 - 2);
      rankgrove_score(model, rows, 3, (size_t)n_features, scores);
      rankgrove_score(model, rows, N_ROWS, (size_t)n_features, scores);
      free(rows);
    }
    rankgrove_close(model);
    ++n_models;
  }
  printf("%d\n", n_models);
  return 0;
}
