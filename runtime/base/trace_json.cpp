#include "runtime/base/trace_json.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/atomic_file.h"
#include "runtime/base/status.h"
#include "runtime/base/utf8.h"

namespace graphrun::runtime {
namespace {

absl::string_view categoryOf(TraceKind kind) {
  switch (kind) {
    case TraceKind::kKernel:
      return "kernel";
    case TraceKind::kSend:
      return "send";
    case TraceKind::kReceive:
      return "recv";
    case TraceKind::kStep:
      return "step";
  }
  return "unknown";
}

class Writer {
 public:
  Writer(absl::Span<const TraceProcess> processes, absl::Span<const std::string> edgeNames)
      : processes_(processes), edgeNames_(edgeNames) {}

  std::string run() {
    findStart();
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    for (size_t pid = 0; pid < processes_.size(); ++pid) {
      writeName("process_name", pid, 0, processes_[pid].name);
      for (size_t tid = 0; tid < processes_[pid].streams.size(); ++tid) {
        writeStream(pid, tid);
      }
    }
    writeArrows();
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  // An End is where one end of an arrow is.
  struct End {
    size_t pid = 0;
    size_t tid = 0;
    int64_t ns = 0;
    bool present = false;
  };

  void findStart() {
    start_ = std::numeric_limits<int64_t>::max();
    for (const TraceProcess& process : processes_) {
      for (const TraceStream& stream : process.streams) {
        for (const TraceEvent& event : stream.events) {
          start_ = std::min(start_, event.startNs + process.clockOffsetNs);
        }
      }
    }
  }

  void beginEvent() {
    if (!first_) {
      text_ += ",\n";
    }
    first_ = false;
  }

  // Microseconds with all digits: a double would lose nanoseconds after some days.
  static std::string micros(int64_t ns) { return absl::StrFormat("%d.%03d", ns / 1000, ns % 1000); }

  void writeName(absl::string_view what, size_t pid, size_t tid, absl::string_view name) {
    beginEvent();
    absl::StrAppend(&text_, "{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", pid, ",\"tid\":", tid,
                    ",\"args\":{\"name\":", jsonString(name), "}}");
  }

  std::string nameOf(const TraceStream& stream, const TraceEvent& event) const {
    if (event.kind == TraceKind::kStep) {
      return absl::StrCat("step ", event.step);
    }
    bool isKernel = event.kind == TraceKind::kKernel;
    absl::Span<const std::string> names = isKernel ? stream.kernelNames : edgeNames_;
    if (event.id < names.size() && !names[event.id].empty()) {
      return names[event.id];
    }
    return absl::StrCat(isKernel ? "op " : "edge ", event.id);
  }

  void writeStream(size_t pid, size_t tid) {
    const TraceStream& stream = processes_[pid].streams[tid];
    writeName("thread_name", pid, tid, stream.name);
    for (const TraceEvent& event : stream.events) {
      int64_t begin = event.startNs + processes_[pid].clockOffsetNs - start_;
      int64_t duration = std::max<int64_t>(event.endNs - event.startNs, 0);
      beginEvent();
      absl::StrAppend(&text_, "{\"ph\":\"X\",\"name\":", jsonString(nameOf(stream, event)),
                      ",\"cat\":\"", categoryOf(event.kind), "\",\"pid\":", pid);
      absl::StrAppend(&text_, ",\"tid\":", tid, ",\"ts\":", micros(begin),
                      ",\"dur\":", micros(duration), ",\"args\":{\"id\":", event.id,
                      ",\"step\":", event.step, "}}");
      noteEnd(event, {pid, tid, begin, true}, duration);
    }
  }

  // An arrow leaves at the start of the send and arrives at the end of the receive.
  void noteEnd(const TraceEvent& event, End end, int64_t duration) {
    if (event.kind != TraceKind::kSend && event.kind != TraceKind::kReceive) {
      return;
    }
    auto& [send, receive] = arrows_[{event.id, event.step}];
    if (event.kind == TraceKind::kSend) {
      send = end;
    } else {
      receive = end;
      receive.ns += duration;
    }
  }

  void writeArrows() {
    for (const auto& [key, ends] : arrows_) {
      if (ends.first.present && ends.second.present) {
        writeArrowEnd("s", key, ends.first);
        writeArrowEnd("f\",\"bp\":\"e", key, ends.second);
      }
    }
  }

  void writeArrowEnd(absl::string_view phase, const std::pair<uint32_t, uint64_t>& key,
                     const End& end) {
    beginEvent();
    absl::StrAppend(&text_, "{\"ph\":\"", phase, "\",\"cat\":\"edge\",\"name\":\"edge\",\"id\":\"",
                    key.first, ":", key.second, "\"");
    absl::StrAppend(&text_, ",\"pid\":", end.pid, ",\"tid\":", end.tid, ",\"ts\":", micros(end.ns),
                    "}");
  }

  absl::Span<const TraceProcess> processes_;
  absl::Span<const std::string> edgeNames_;
  std::string text_;
  bool first_ = true;
  int64_t start_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, std::pair<End, End>> arrows_;  // by edge and step
};

}  // namespace

std::string chromeTrace(absl::Span<const TraceProcess> processes,
                        absl::Span<const std::string> edgeNames) {
  return Writer(processes, edgeNames).run();
}

absl::Status writeChromeTrace(const std::string& path, absl::Span<const TraceProcess> processes,
                              absl::Span<const std::string> edgeNames) {
  std::string text = chromeTrace(processes, edgeNames);
  GR_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  GR_RETURN_IF_ERROR(file.write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  return file.commit();
}

std::string jsonString(absl::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    size_t length = utf8Length(text);
    auto byte = static_cast<uint8_t>(text[0]);
    if (length == 0) {
      result += "\uFFFD";
    } else if (byte == '"' || byte == '\\') {
      result += {'\\', text[0]};
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppend(&result, "\\u", absl::Hex(byte, absl::kZeroPad4));
    } else {
      absl::StrAppend(&result, text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  result += '"';
  return result;
}

}  // namespace graphrun::runtime
