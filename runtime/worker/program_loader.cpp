#include "runtime/worker/program_loader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/format/weight_table.h"
#include "runtime/memory/communicator_memory.h"
#include "runtime/worker/disk_code_store.h"

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

/// The limit for weights and arena of the partition's executable; 0: none.
uint64_t memoryFor(const format::PlanFile& plan, uint32_t index, const devices::Device& device) {
  const uint64_t limit = device.description().memoryBytes;
  const uint32_t of = plan.plan().partitions()->Get(index)->device();
  const uint64_t others = ownSlotBytes(plan, of, device) + communicatorBytes(plan, of);
  return limit == 0 ? 0 : limit - std::min(others, limit - 1);
}

/// The entry of an executable whose kernels were chosen by measurement.
std::string tunedKey(const std::string& key) { return absl::StrCat(key, "-tuned"); }

/// The entry of what devices of a fingerprint refuse.
std::string refusedKey(const std::string& compiler, const std::string& fingerprint) {
  return CacheKey().add(compiler).add(fingerprint).add("refused").hex();
}

/// A partition is compiled so often at most for one device; each time all earlier refusals are
/// known.
constexpr int kMostCompilations = 16;

/// `refusal`, where `last`, of the compilation without that kernel, is no failure of another sort.
absl::Status withoutKernel(const absl::Status& refusal, const absl::Status& last) {
  if (!absl::IsUnimplemented(last) && devices::refusalsOf(last).empty()) {
    return last;
  }
  return absl::UnimplementedError(
      absl::StrCat(refusal.message(), "; no other kernel does in its place (", last.message(),
                   "); place the node on another device (--pin)"));
}

}  // namespace

uint64_t communicatorBytes(const format::PlanFile& plan, uint32_t index) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < format::sizeOf(plan.plan().communicators()); ++i) {
    const auto& devices = *plan.plan().communicators()->Get(i)->devices();
    bool isMember = std::find(devices.begin(), devices.end(), index) != devices.end();
    bytes += isMember ? kCommunicatorBytes : 0;
  }
  return bytes;
}

uint64_t ownSlotBytes(const format::PlanFile& plan, uint32_t index, const devices::Device& device) {
  return device.bindsHostMemory() ? 0 : plan.slotBytes(index);
}

std::string executableKey(const format::PlanFile& file, uint32_t index,
                          const devices::Device& device, const std::string& compilerIdentity) {
  const format::Plan& plan = file.plan();
  const format::Partition& partition = *plan.partitions()->Get(index);
  CacheKey key;
  key.add(compilerIdentity).add(device.description().kind).add(device.fingerprint());
  key.add(memoryFor(file, index, device));
  key.add(uint64_t{plan.numerics()});
  key.add(uint64_t{plan.precision()});
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
                                                  devices::Device& device, PlanWeights& weights,
                                                  uint64_t tuneNanos) {
  const int64_t begin = nowNanos();
  const std::string key = executableKey(plan, index, device, compiler_->identity());
  std::vector<std::string> keys = {tunedKey(key)};
  if (tuneNanos == 0) {
    keys.push_back(key);
  }
  for (const std::string& cached : keys) {
    GR_ASSIGN_OR_RETURN(std::optional<LoadedProgram> found, loadCached(cached, device, weights));
    if (found.has_value()) {
      found->prepareNanos = static_cast<uint64_t>(nowNanos() - begin);
      found->tuned = cached != key;
      return *std::move(found);
    }
  }
  GR_ASSIGN_OR_RETURN(LoadedProgram compiled,
                      compile(plan, index, key, device, weights, tuneNanos));
  compiled.prepareNanos = static_cast<uint64_t>(nowNanos() - begin);
  return compiled;
}

absl::StatusOr<std::optional<LoadedProgram>> ProgramLoader::loadCached(const std::string& key,
                                                                       devices::Device& device,
                                                                       PlanWeights& weights) {
  std::optional<DiskCache::Entry> entry = executables_->find(key);
  if (!entry.has_value()) {
    return std::nullopt;
  }
  auto owner = std::make_shared<DiskCache::Entry>(*std::move(entry));
  absl::StatusOr<std::unique_ptr<devices::Program>> program = device.load(owner->bytes, weights);
  if (program.ok()) {
    return LoadedProgram{owner, *std::move(program), 0, true};
  }
  if (absl::IsResourceExhausted(program.status()) || absl::IsUnavailable(program.status())) {
    return program.status();  // memory lacks, which another executable would take as well
  }
  log(LogLevel::kWarning,
      absl::StrCat("cached executable ", key, " for ", device.description().name,
                   " cannot be used (", program.status().message(), "); it is compiled again"));
  executables_->remove(key);
  return std::nullopt;
}

absl::StatusOr<LoadedProgram> ProgramLoader::compile(const format::PlanFile& plan, uint32_t index,
                                                     const std::string& key,
                                                     devices::Device& device, PlanWeights& weights,
                                                     uint64_t tuneNanos) {
  PartitionTask task{plan.bytes(), index, device.description(), device.fingerprint()};
  task.device.memoryBytes = memoryFor(plan, index, device);
  DiskCodeStore code(compiler_->identity(), code_);
  task.code = &code;
  task.tuneNanos = tuneNanos;
  devices::RefusedKernels refused = refusedBy(device);
  std::vector<std::string> refusals;
  absl::Status first;  // refusal
  for (int compilations = 1;; ++compilations) {
    absl::StatusOr<LoadedProgram> made = compileWithout(refused, task, key, device, weights);
    if (made.ok()) {
      if (!refusals.empty()) {
        keepRefused(device, refused);
      }
      made->refusals = std::move(refusals);
      return made;
    }
    bool learnt = false;
    for (const devices::KernelRefusal& refusal : devices::refusalsOf(made.status())) {
      if (refused.add(refusal)) {
        learnt = true;
        refusals.push_back(absl::StrCat("'", refusal.label, "': kernel ", refusal.kernel,
                                        " is refused: ", refusal.reason));
      }
    }
    if (learnt && compilations < kMostCompilations) {
      first.Update(made.status());
    } else {
      return refusals.empty() ? made.status() : withoutKernel(first, made.status());
    }
  }
}

absl::StatusOr<LoadedProgram> ProgramLoader::compileWithout(const devices::RefusedKernels& refused,
                                                            PartitionTask task,
                                                            const std::string& key,
                                                            devices::Device& device,
                                                            PlanWeights& weights) {
  task.refused = refused.text();
  absl::StatusOr<CompiledPartition> compiled = compileTimed(std::move(task), device, weights);
  if (!compiled.ok()) {
    return annotate(compiled.status(), absl::StrCat("compiling for ", device.description().name));
  }
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(compiled->executable));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<devices::Program> program, device.load(*owner, weights));
  absl::Status stored = executables_->store(compiled->tuned ? tunedKey(key) : key, *owner);
  if (!stored.ok()) {
    executables_->warnNotKept("an executable", stored);
  }
  return LoadedProgram{owner, std::move(program), 0, false, compiled->tuned, {}};
}

devices::RefusedKernels ProgramLoader::refusedBy(const devices::Device& device) const {
  std::optional<DiskCache::Entry> known =
      timings_->find(refusedKey(compiler_->identity(), device.fingerprint()));
  return known.has_value()
             ? devices::RefusedKernels(absl::string_view(
                   reinterpret_cast<const char*>(known->bytes.data()), known->bytes.size()))
             : devices::RefusedKernels();
}

void ProgramLoader::keepRefused(const devices::Device& device,
                                const devices::RefusedKernels& refused) {
  // Other devices of the kind may have been refused more meanwhile.
  const std::string text =
      devices::RefusedKernels(absl::StrCat(refusedBy(device).text(), "\n", refused.text())).text();
  auto bytes = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  absl::Status stored =
      timings_->store(refusedKey(compiler_->identity(), device.fingerprint()), bytes);
  if (!stored.ok()) {
    timings_->warnNotKept("what a library refuses", stored);
  }
}

/// Compiles with the timings of the device's kind that are known so far, and keeps what is new.
absl::StatusOr<CompiledPartition> ProgramLoader::compileTimed(PartitionTask task,
                                                              const devices::Device& device,
                                                              PlanWeights& weights) {
  std::string key = CacheKey().add(compiler_->identity()).add(device.fingerprint()).hex();
  std::optional<DiskCache::Entry> known = timings_->find(key);
  if (known.has_value()) {
    task.timings =
        absl::string_view(reinterpret_cast<const char*>(known->bytes.data()), known->bytes.size());
  }
  GR_ASSIGN_OR_RETURN(CompiledPartition compiled,
                      compiler_->compilePartition(
                          task, [&](uint32_t index) -> absl::StatusOr<absl::Span<const uint8_t>> {
                            GR_ASSIGN_OR_RETURN(devices::Weight weight, weights.weight(index));
                            return weight.bytes;
                          }));
  if (task.tuneNanos > 0 && compiled.timings != task.timings) {
    auto bytes = absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(compiled.timings.data()),
                                     compiled.timings.size());
    if (absl::Status stored = timings_->store(key, bytes); !stored.ok()) {
      timings_->warnNotKept("a timing of kernels", stored);
    }
  }
  return compiled;
}

}  // namespace graphrun::runtime
