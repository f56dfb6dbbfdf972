#include "runtime/base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

struct Unit {
  absl::string_view name;
  double factor;
};

constexpr std::array<Unit, 9> kByteUnits = {{{"B", 1},
                                             {"KB", 1e3},
                                             {"KiB", 1024.0},
                                             {"MB", 1e6},
                                             {"MiB", 1048576.0},
                                             {"GB", 1e9},
                                             {"GiB", 1073741824.0},
                                             {"TB", 1e12},
                                             {"TiB", 1099511627776.0}}};
constexpr std::array<Unit, 9> kBandwidthUnits = {{{"KB/s", 1e3},
                                                  {"KiB/s", 1024.0},
                                                  {"MB/s", 1e6},
                                                  {"MiB/s", 1048576.0},
                                                  {"GB/s", 1e9},
                                                  {"GiB/s", 1073741824.0},
                                                  {"Kbps", 1e3 / 8},
                                                  {"Mbps", 1e6 / 8},
                                                  {"Gbps", 1e9 / 8}}};
constexpr std::array<Unit, 4> kTimeUnits = {{{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}}};

constexpr double kLargest = 4611686018427387904.0;  // 2^62

template <size_t N>
absl::Status badQuantity(absl::string_view text, const std::array<Unit, N>& units) {
  std::string names = absl::StrJoin(
      units, ", ", [](std::string* out, const Unit& u) { absl::StrAppend(out, u.name); });
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not a number followed by one of ", names));
}

/// Splits off a plain decimal number ("12", "1.5"); nothing for a sign, an exponent, "inf".
template <size_t N>
absl::StatusOr<double> parseQuantity(absl::string_view text, const std::array<Unit, N>& units) {
  size_t digits = text.find_first_not_of("0123456789.");
  if (digits == absl::string_view::npos || digits == 0 || text[0] == '.') {
    return badQuantity(text, units);
  }
  double number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + digits || text[digits - 1] == '.') {
    return badQuantity(text, units);
  }
  for (const Unit& unit : units) {
    if (unit.name == text.substr(digits)) {
      double value = number * unit.factor;
      if (value > kLargest) {
        return absl::InvalidArgumentError(absl::StrCat("'", text, "' is too large"));
      }
      return value;
    }
  }
  return badQuantity(text, units);
}

absl::StatusOr<int> parseCore(absl::string_view text) {
  int core = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), core);
  if (text.empty() || text[0] == '-' || error != std::errc() || end != text.data() + text.size() ||
      core > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a CPU number"));
  }
  return core;
}

}  // namespace

absl::StatusOr<int64_t> parseBytes(absl::string_view text) {
  GR_ASSIGN_OR_RETURN(double bytes, parseQuantity(text, kByteUnits));
  if (bytes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' must be at least one byte"));
  }
  return static_cast<int64_t>(bytes);
}

absl::StatusOr<double> parseBandwidth(absl::string_view text) {
  GR_ASSIGN_OR_RETURN(double rate, parseQuantity(text, kBandwidthUnits));
  if (rate < 1) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' must be greater than 0"));
  }
  return rate;
}

absl::StatusOr<int64_t> parseDuration(absl::string_view text) {
  GR_ASSIGN_OR_RETURN(double ns, parseQuantity(text, kTimeUnits));
  return std::llround(ns);
}

absl::StatusOr<int64_t> parseSeconds(absl::string_view text) {
  bool isPlain = !text.empty() && text.find_first_not_of("0123456789.") == absl::string_view::npos;
  absl::StatusOr<int64_t> ns = parseDuration(isPlain ? absl::StrCat(text, "s") : text);
  return absl::IsInvalidArgument(ns.status()) && !isPlain
             ? annotate(ns.status(), "a time is seconds or has a unit")
             : ns;
}

absl::StatusOr<std::vector<int>> parseCores(absl::string_view text) {
  std::set<int> cores;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    std::pair<absl::string_view, absl::string_view> range =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    bool single = part.find('-') == absl::string_view::npos;
    GR_ASSIGN_OR_RETURN(int first, parseCore(range.first));
    int last = first;
    if (!single) {
      GR_ASSIGN_OR_RETURN(last, parseCore(range.second));
    }
    if (last < first) {
      return absl::InvalidArgumentError(absl::StrCat("the range '", part, "' runs backwards"));
    }
    for (int core = first; core <= last; ++core) {
      if (!cores.insert(core).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("CPU ", core, " is given twice in '", text.substr(0, 100), "'"));
      }
    }
  }
  return std::vector<int>(cores.begin(), cores.end());
}

namespace {

std::string formatBytes(int64_t bytes, double (*rounded)(double)) {
  if (bytes < 1024) {
    return absl::StrCat(bytes, " B");
  }
  static constexpr std::array<absl::string_view, 5> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t i = 0;
  for (; value >= 1024 && i + 1 < kNames.size(); ++i) {
    value /= 1024;
  }
  return absl::StrFormat("%.2f %s", rounded(value * 100) / 100, kNames[i]);
}

}  // namespace

std::string formatBytes(int64_t bytes) {
  return formatBytes(bytes, [](double hundredths) { return std::round(hundredths); });
}

std::string formatNeededBytes(int64_t bytes) {
  return formatBytes(bytes, [](double hundredths) { return std::ceil(hundredths); });
}

std::string formatDuration(int64_t ns) {
  if (ns < 1000) {
    return absl::StrCat(ns, " ns");
  }
  auto value = static_cast<double>(ns);
  if (ns < 1'000'000) {
    return absl::StrFormat("%.2f us", value / 1e3);
  }
  return ns < 1'000'000'000 ? absl::StrFormat("%.2f ms", value / 1e6)
                            : absl::StrFormat("%.2f s", value / 1e9);
}

std::string formatCount(int64_t count) {
  if (count < 1000) {
    return absl::StrCat(count);
  }
  static constexpr std::array<absl::string_view, 5> kNames = {"k", "M", "G", "T", "P"};
  double value = static_cast<double>(count) / 1000;
  size_t i = 0;
  for (; value >= 1000 && i + 1 < kNames.size(); ++i) {
    value /= 1000;
  }
  return absl::StrFormat("%.2f %s", value, kNames[i]);
}

}  // namespace graphrun::runtime
