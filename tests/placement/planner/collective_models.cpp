// Writes models with collectives into a folder, and beside each the names of its inputs, with their
// shapes, and of its outputs: each.fb has one collective of every kind, type and size, random_N.fb
// are networks of three members drawn with seed N, all_reduce_N.fb has N of two members, one behind
// the other, of 64 MiB.
#include <array>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "frontends/builder/graph_builder.h"

namespace {

using namespace graphrun::builder;

constexpr size_t kMembers = 3;
using Values = std::vector<Tensor>;

/// A model, and the list of its inputs and outputs.
class Model {
 public:
  Model(std::string folder, std::string name)
      : graph(name), path_(folder + "/" + name + ".fb"), list_(folder + "/" + name + ".txt") {}

  /// An input of each member, of floats.
  Values inputs(const std::string& name, const std::vector<int64_t>& shape,
                size_t members = kMembers) {
    Values values;
    for (size_t i = 0; i < members; ++i) {
      std::string own = name + std::to_string(i);
      list_ << "input " << own;
      for (int64_t dim : shape) {
        list_ << " " << dim;
      }
      list_ << "\n";
      values.push_back(graph.input(own, ElementType::kF32, {shape.begin(), shape.end()}));
    }
    return values;
  }

  /// What each member has, by a function of its number and of what it had.
  template <typename Function>
  Values each(const Values& values, Function function) {
    Values results;
    for (size_t i = 0; i < values.size(); ++i) {
      auto scope = graph.scope("m" + std::to_string(i));
      results.push_back(function(i, values[i]));
    }
    return results;
  }

  void output(const std::string& name, const Values& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      std::string own = name + "." + std::to_string(i);
      list_ << "output " << own << "\n";
      bool isShort = values[i].elementType() == ElementType::kBF16;
      graph.output(own, isShort ? cast(values[i], ElementType::kF32) : values[i]);
    }
  }

  bool save() {
    absl::Status status = graph.save(path_);
    std::cerr << status.message() << (status.ok() ? "" : "\n");
    return status.ok();
  }

  Graph graph;

 private:
  std::string path_;
  std::ofstream list_;
};

/// Operands of a type that the members make, most of them: the last one is an input where it can
/// be.
Values operandsOf(Model& model, const Values& inputs, ElementType type) {
  return model.each(inputs, [&](size_t i, const Tensor& x) {
    bool isInput = i + 1 == kMembers && type == ElementType::kF32;
    return isInput ? x : cast(x * (17.5 + static_cast<double>(i)), type);
  });
}

bool writeEach(const std::string& folder) {
  Model model(folder, "each");
  for (std::string size : {"small", "large"}) {
    // No part of the large ones is as long as the others but where it has to be.
    Values inputs = model.inputs(
        size, size == "small" ? std::vector<int64_t>{3, 6, 5} : std::vector<int64_t>{33, 71, 19});
    for (auto [name, type] : {std::pair{"f32", ElementType::kF32},
                              {"bf16", ElementType::kBF16},
                              {"i32", ElementType::kI32}}) {
      Values x = operandsOf(model, inputs, type);
      std::string stem = size + "." + name;
      model.output(stem + ".mean", allReduce(x, Reduction::kMean));
      model.output(stem + ".gather", allGather(x, 1));
      model.output(stem + ".scatter", reduceScatter(x, 0, Reduction::kSum));
    }
    Values x = operandsOf(model, inputs, ElementType::kF32);
    model.output(size + ".sum", allReduce(x));
    model.output(size + ".prod", allReduce(x, Reduction::kProd));
    model.output(size + ".max", allReduce(x, Reduction::kMax));
    model.output(size + ".scattered", reduceScatter(x, 0, Reduction::kMin));
    model.output(size + ".pair", allReduce({x[0], x[1]}));
    model.output(size + ".same",
                 allReduce({x[0], x[0], x[1], x[2]}, Reduction::kSum, size + "_same"));
    Values flags = model.each(x, [](size_t, const Tensor& v) { return less(v, 3); });
    model.output(size + ".flags", allGather(flags, 0));
  }
  return model.save();
}

bool writeRandom(const std::string& folder, unsigned seed) {
  Model model(folder, "random_" + std::to_string(seed));
  std::mt19937 draw(seed);
  auto below = [&](unsigned count) { return static_cast<int>(draw() % count); };
  constexpr std::array kKinds = {Reduction::kSum, Reduction::kMean, Reduction::kMax,
                                 Reduction::kMin};
  int64_t rows = 9 << below(10);
  const int64_t columns = 1 + below(30);
  Values x = model.inputs("x", {rows, columns});
  for (int layer = 0; layer < 6; ++layer) {
    x = model.each(x, [&](size_t i, const Tensor& v) {
      return below(2) == 0 ? tanh(v) : v * (0.5 + static_cast<double>(i));
    });
    Reduction kind = kKinds[static_cast<size_t>(below(kKinds.size()))];
    int choice = below(4);
    if (choice == 0 && rows < 9000) {
      x = allGather(x, 0);
      rows *= static_cast<int64_t>(kMembers);
    } else if (choice == 1 && rows % static_cast<int64_t>(kMembers) == 0) {
      x = reduceScatter(x, 0, kind);
      rows /= static_cast<int64_t>(kMembers);
    } else {
      x = allReduce(x, kind);
    }
    x[0] = x[0] + x[static_cast<size_t>(below(kMembers))];
  }
  model.output("y", x);
  return model.save();
}

bool writeChain(const std::string& folder, int count) {
  Model model(folder, "all_reduce_" + std::to_string(count));
  Values x = model.inputs("x", {16 << 20}, 2);
  for (int i = 0; i < count; ++i) {
    x = allReduce(x);
  }
  model.output("y", x);
  return model.save();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: collective_models FOLDER SEEDS\n";
    return 2;
  }
  bool good = writeEach(argv[1]) && writeChain(argv[1], 16) && writeChain(argv[1], 64);
  for (unsigned seed = 0; seed < static_cast<unsigned>(std::stoi(argv[2])); ++seed) {
    good = writeRandom(argv[1], seed) && good;
  }
  return good ? 0 : 1;
}
