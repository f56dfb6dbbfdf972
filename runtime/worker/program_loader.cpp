#include "runtime/worker/program_loader.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

/// The bytes of a table on its own, whatever buffer it was part of.
template <typename Table>
void addTable(CacheKey& key, const Table& table) {
  flatbuffers::FlatBufferBuilder builder;
  std::unique_ptr<typename Table::NativeTableType> unpacked(table.UnPack());
  builder.Finish(Table::Pack(builder, unpacked.get()));
  key.add(absl::MakeConstSpan(builder.GetBufferPointer(), builder.GetSize()));
}

}  // namespace

std::string executableKey(const format::Plan& plan, uint32_t index, const devices::Device& device,
                          const std::string& compilerIdentity) {
  const format::Partition& partition = *plan.partitions()->Get(index);
  CacheKey key;
  key.add(compilerIdentity).add(device.description().kind).add(device.fingerprint());
  key.add(uint64_t{device.description().memoryBytes});
  addTable(key, *partition.graph());
  // Executables name weights and edges by their number in the plan.
  if (partition.weights() != nullptr) {
    for (uint32_t weight : *partition.weights()) {
      const format::WeightEntry& entry = *plan.weights()->Get(weight);
      key.add(uint64_t{weight}).add(entry.checksum()).add(entry.length());
      key.add(uint64_t{entry.splat()});
    }
  }
  if (plan.edges() != nullptr) {
    for (const format::Edge* edge : *plan.edges()) {
      if (edge->source() == partition.device() || edge->target() == partition.device()) {
        key.add(uint64_t{edge->id()}).add(edge->bytes());
      }
    }
  }
  return key.hex();
}

absl::StatusOr<LoadedProgram> ProgramLoader::load(const format::PlanFile& plan, uint32_t index,
                                                  devices::Device& device, PlanWeights& weights) {
  const int64_t begin = nowNanos();
  std::string key = executableKey(plan.plan(), index, device, compiler_->identity());
  if (std::optional<DiskCache::Entry> entry = executables_->find(key)) {
    auto owner = std::make_shared<DiskCache::Entry>(*std::move(entry));
    absl::StatusOr<std::unique_ptr<devices::Program>> program = device.load(owner->bytes, weights);
    if (program.ok()) {
      return LoadedProgram{owner, *std::move(program), static_cast<uint64_t>(nowNanos() - begin),
                           true};
    }
    if (absl::IsResourceExhausted(program.status())) {
      return program.status();
    }
    log(LogLevel::kWarning,
        absl::StrCat("cached executable ", key, " for ", device.description().name,
                     " cannot be used (", program.status().message(), "); it is compiled again"));
    executables_->remove(key);
  }
  GR_ASSIGN_OR_RETURN(LoadedProgram compiled, compile(plan, index, key, device, weights));
  compiled.prepareNanos = static_cast<uint64_t>(nowNanos() - begin);
  return compiled;
}

absl::StatusOr<LoadedProgram> ProgramLoader::compile(const format::PlanFile& plan, uint32_t index,
                                                     const std::string& key,
                                                     devices::Device& device,
                                                     PlanWeights& weights) {
  const devices::DeviceDescription& description = device.description();
  PartitionTask task{plan.bytes(), index, description.cores, device.fingerprint(),
                     description.threads};
  absl::StatusOr<std::vector<uint8_t>> compiled = compiler_->compilePartition(
      task, [&](uint32_t index) -> absl::StatusOr<absl::Span<const uint8_t>> {
        GR_ASSIGN_OR_RETURN(devices::Weight weight, weights.weight(index));
        return weight.bytes;
      });
  if (!compiled.ok()) {
    return annotate(compiled.status(), absl::StrCat("compiling for ", description.name));
  }
  auto owner = std::make_shared<std::vector<uint8_t>>(*std::move(compiled));
  if (absl::Status stored = executables_->store(key, *owner); !stored.ok()) {
    log(LogLevel::kWarning, absl::StrCat("an executable is not kept: ", stored.message()));
  }
  GR_ASSIGN_OR_RETURN(std::unique_ptr<devices::Program> program, device.load(*owner, weights));
  return LoadedProgram{owner, std::move(program), 0, false};
}

}  // namespace graphrun::runtime
