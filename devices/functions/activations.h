// Has the cells of recurrent layers and says what activations do to one value, for kernels, for
// generated code and for import. The rows of recurrent.def name them.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_ACTIVATIONS_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_ACTIVATIONS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace graphrun::devices::functions::activations {

enum class CellKind : uint8_t {
#define GR_CELL(Kind, name, gates, ...) k##Kind,
#include "devices/functions/recurrent.def"
};

/// Is a row of the cells.
struct Cell {
  CellKind kind;
  std::string_view name;
  int64_t gates;
  std::vector<std::string_view> usual;  ///< as many activations as it has

  /// True when `names` are the usual ones.
  template <typename Names>
  bool isUsual(const Names& names) const {
    return std::equal(usual.begin(), usual.end(), names.begin(), names.end());
  }
};

/// Returns the cells, in the order of the table.
inline std::span<const Cell> cells() {
  static const std::vector<Cell> kCells = {
#define GR_CELL(Kind, name, gates, ...) {CellKind::k##Kind, #name, gates, {__VA_ARGS__}},
#include "devices/functions/recurrent.def"
  };
  return kCells;
}
/// Returns the cell of that name, or null where there is none.
inline const Cell* cellOf(std::string_view name) {
  for (const Cell& cell : cells()) {
    if (cell.name == name) {
      return &cell;
    }
  }
  return nullptr;
}

/// Has what activations are made of, on numbers. Who generates code has a class with the same names
/// for what it computes with.
struct Numbers {
  static double number(double value) { return value; }
  static double add(double x, double y) { return x + y; }
  static double multiply(double x, double y) { return x * y; }
  static double divide(double x, double y) { return x / y; }
  static double negative(double x) { return -x; }
  static double absolute(double x) { return std::fabs(x); }
  static double exp(double x) { return std::exp(x); }
  static double expm1(double x) { return std::expm1(x); }
  static double log1p(double x) { return std::log1p(x); }
  static double tanh(double x) { return std::tanh(x); }
  static double clamped(double x, double low, double high) { return std::clamp(x, low, high); }
  /// Returns x < y ? below : otherwise.
  static double ifLess(double x, double y, double below, double otherwise) {
    return x < y ? below : otherwise;
  }
};

// Each activation has `apply`, and its derivative `slope`, which is that from the left or the right
// where they differ.

/// Is alpha * x + beta.
struct Affine {
  template <typename M, typename T>
  static T apply(M& m, T x, T alpha, T beta) {
    return m.add(m.multiply(alpha, x), beta);
  }
  static double slope(double, double alpha, double) { return alpha; }
};
/// Is x where x >= 0, else alpha * (exp(x) - 1).
struct Elu {
  template <typename M, typename T>
  static T apply(M& m, T x, T alpha, T) {
    return m.ifLess(x, m.number(0), m.multiply(alpha, m.expm1(x)), x);
  }
  static double slope(double x, double alpha, double) { return x < 0 ? alpha * std::exp(x) : 1; }
};
/// Is max(0, min(1, alpha * x + beta)).
struct Hardsigmoid {
  template <typename M, typename T>
  static T apply(M& m, T x, T alpha, T beta) {
    return m.clamped(Affine::apply(m, x, alpha, beta), m.number(0), m.number(1));
  }
  static double slope(double x, double alpha, double beta) {
    double y = alpha * x + beta;
    return y > 0 && y < 1 ? alpha : 0;
  }
};
/// Is x where x >= 0, else alpha * x.
struct Leakyrelu {
  template <typename M, typename T>
  static T apply(M& m, T x, T alpha, T) {
    return m.ifLess(x, m.number(0), m.multiply(alpha, x), x);
  }
  static double slope(double x, double alpha, double) { return x < 0 ? alpha : 1; }
};
/// Is max(x, 0).
struct Relu {
  template <typename M, typename T>
  static T apply(M& m, T x, T, T) {
    return m.ifLess(x, m.number(0), m.number(0), x);
  }
  static double slope(double x, double, double) { return x > 0 ? 1 : 0; }
};
/// Is alpha * tanh(beta * x).
struct Scaledtanh {
  template <typename M, typename T>
  static T apply(M& m, T x, T alpha, T beta) {
    return m.multiply(alpha, m.tanh(m.multiply(beta, x)));
  }
  static double slope(double x, double alpha, double beta) {
    double y = std::tanh(beta * x);
    return alpha * beta * (1 - y * y);
  }
};
/// Is 1 / (1 + exp(-x)).
struct Sigmoid {
  template <typename M, typename T>
  static T apply(M& m, T x, T, T) {
    return m.divide(m.number(1), m.add(m.number(1), m.exp(m.negative(x))));
  }
  static double slope(double x, double, double) {
    double y = 1 / (1 + std::exp(-x));
    return y * (1 - y);
  }
};
/// Is log(1 + exp(x)), without overflow.
struct Softplus {
  template <typename M, typename T>
  static T apply(M& m, T x, T alpha, T beta) {
    T small = m.exp(m.negative(m.absolute(x)));
    return m.add(Relu::apply(m, x, alpha, beta), m.log1p(small));
  }
  static double slope(double x, double, double) { return 1 / (1 + std::exp(-x)); }
};
/// Is x / (1 + |x|).
struct Softsign {
  template <typename M, typename T>
  static T apply(M& m, T x, T, T) {
    return m.divide(x, m.add(m.number(1), m.absolute(x)));
  }
  static double slope(double x, double, double) {
    double y = 1 + std::fabs(x);
    return 1 / (y * y);
  }
};
/// Is tanh(x).
struct Tanh {
  template <typename M, typename T>
  static T apply(M& m, T x, T, T) {
    return m.tanh(x);
  }
  static double slope(double x, double, double) {
    double y = std::tanh(x);
    return 1 - y * y;
  }
};
/// Is x where x > alpha, else 0.
struct Thresholdedrelu {
  template <typename M, typename T>
  static T apply(M& m, T x, T alpha, T) {
    return m.ifLess(alpha, x, x, m.number(0));
  }
  static double slope(double x, double alpha, double) { return x > alpha ? 1 : 0; }
};

}  // namespace graphrun::devices::functions::activations

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_ACTIVATIONS_H_
