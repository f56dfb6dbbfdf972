// bench_graphs: writes cost graphs for ./dev bench placement, in GraphRun's own format, into a
// folder. One line of JSON: for each {"file", "nodes", "devices", "optimum_ns"}, the last one 0
// where it is not known.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "placement/formats/cost_file.h"
#include "tests/placement/large_graphs.h"
#include "tests/placement/planted.h"

namespace graphrun::placement {
namespace {

struct Options {
  std::string kind;
  std::string folder;
  int nodes = 1000;
  int devices = 8;
  double ccr = 1;
  bool queues = false;
  uint64_t seed = 0;
  int count = 1;
};

testing::Planted graphOf(const Options& options, uint64_t seed) {
  if (options.kind == "planted") {
    testing::PlantedOptions planted;
    planted.tasks = options.nodes;
    planted.devices = options.devices;
    planted.ccr = options.ccr;
    planted.queues = options.queues;
    planted.seed = seed;
    return testing::plant(planted);
  }
  testing::LargeOptions large{options.nodes, options.devices, options.ccr, seed};
  testing::LargeGraph made =
      options.kind == "layered" ? testing::layeredGraph(large) : testing::blockGraph(large);
  return {std::move(made.graph), std::move(made.cluster), 0, {}};
}

nlohmann::ordered_json write(const Options& options, uint64_t seed) {
  testing::Planted made = graphOf(options, seed);
  std::string file =
      absl::StrCat(options.folder, "/", options.kind, "_", options.nodes, "_", options.devices, "_",
                   options.ccr, options.queues ? "_queues_" : "_", seed, ".json");
  std::ofstream(file)
      << writeCostFile(PlacementProblem::create(made.graph, made.cluster).value()).value();
  return {{"file", file},
          {"nodes", made.graph.nodeCount()},
          {"devices", options.devices},
          {"optimum_ns", made.optimumNs}};
}

}  // namespace
}  // namespace graphrun::placement

int main(int argc, char** argv) {
  graphrun::placement::Options options;
  CLI::App app("Writes cost graphs for benches.");
  app.add_option("KIND", options.kind)
      ->required()
      ->check(CLI::IsMember({"planted", "layered", "blocks"}));
  app.add_option("FOLDER", options.folder)->required()->check(CLI::ExistingDirectory);
  app.add_option("--nodes", options.nodes);
  app.add_option("--devices", options.devices);
  app.add_option("--ccr", options.ccr, "Communication to computation");
  app.add_flag("--queues", options.queues, "Links carry one transfer at a time (planted)");
  app.add_option("--seed", options.seed, "Of the first graph; each next one has the next seed");
  app.add_option("--count", options.count, "Graphs");
  CLI11_PARSE(app, argc, argv);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int i = 0; i < options.count; ++i) {
    rows.push_back(graphrun::placement::write(options, options.seed + static_cast<uint64_t>(i)));
  }
  std::printf("%s\n", rows.dump().c_str());
  return 0;
}
