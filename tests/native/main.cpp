#include "check.hpp"

int main(int n_arguments, char** arguments) { return check::run(n_arguments, arguments); }
