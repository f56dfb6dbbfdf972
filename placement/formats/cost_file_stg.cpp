// Standard task graphs: the number of tasks, then a line a task: number, time, number of
// predecessors, their numbers. '#' starts the trailer.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "placement/formats/cost_file_formats.h"

namespace graphrun::placement {
namespace {

/// The two that begin and end every graph are not counted in its first line.
constexpr int64_t kDummyTasks = 2;

class TaskGraphReader {
 public:
  TaskGraphReader(int64_t devices, FileProblems& problems, CostFile& file)
      : devices_(devices), problems_(problems), file_(file) {}

  void read(absl::string_view text) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++line_;
      std::vector<absl::string_view> words =
          absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
      if (words.empty()) {
        continue;
      }
      if (words[0][0] == '#' || problems_.full()) {
        break;
      }
      count_ < 0 ? readCount(words) : readTask(words);
      if (count_ < 0) {
        break;  // nothing is as it seems
      }
    }
    if (problems_.none() && file_.graph.nodeCount() < count_) {
      problem(absl::StrCat("the file ends after ", file_.graph.nodeCount(), " tasks, expected ",
                           count_, " (two of them dummies)"));
    }
    for (std::vector<int>& consumers : consumers_) {
      CostTensor tensor;
      tensor.producer = static_cast<int>(&consumers - consumers_.data());
      tensor.name = file_.graph.node(tensor.producer).name;
      tensor.consumers = std::move(consumers);
      if (!tensor.consumers.empty()) {
        file_.graph.addTensor(std::move(tensor));
      }
    }
  }

 private:
  void problem(absl::string_view what) { problems_.add(absl::StrCat("line ", line_), what); }

  bool number(absl::string_view word, int64_t most, const char* what, int64_t& value) {
    int64_t got = 0;
    if (absl::SimpleAtoi(word, &got) && got >= 0 && got <= most) {
      value = got;
      return true;
    }
    problem(absl::StrCat("got '", word.substr(0, 40), "' as ", what,
                         ", expected a whole number from 0 to ", most));
    return false;
  }

  void readCount(const std::vector<absl::string_view>& words) {
    int64_t count = 0;
    if (number(words[0], kMostTimes / std::max<int64_t>(devices_, 1), "number of tasks", count)) {
      count_ = count + kDummyTasks;
    }
  }

  /// A line with a problem is a task all the same, so that the next ones are numbered as meant.
  void readTask(const std::vector<absl::string_view>& words) {
    int id = file_.graph.nodeCount();
    int64_t time = words.size() < 3 ? 0 : readNumbers(words, id);
    CostNode node;
    node.name = absl::StrCat(id);
    node.op = "task";
    node.timeNs.assign(static_cast<size_t>(devices_), time);
    file_.graph.addNode(std::move(node));
    consumers_.resize(consumers_.size() + 1);
    if (words.size() < 3) {
      problem("expected a task's number, time and number of predecessors");
    }
    for (size_t i = 3; i < words.size(); ++i) {
      readPredecessor(words[i], id);
    }
  }

  int64_t readNumbers(const std::vector<absl::string_view>& words, int id) {
    int64_t given = id;
    int64_t time = 0;
    int64_t predecessors = 0;
    number(words[0], count_ - 1, "task", given);
    number(words[1], kMostNs, "time", time);
    if (given != id) {
      problem(absl::StrCat("got task ", given, ", expected ", id));
    }
    if (number(words[2], count_ - 1, "number of predecessors", predecessors) &&
        static_cast<int64_t>(words.size()) != 3 + predecessors) {
      problem(absl::StrCat("task ", id, " has ", words.size() - 3, " predecessors, expected ",
                           predecessors));
    }
    return time;
  }

  void readPredecessor(absl::string_view word, int id) {
    int64_t from = 0;
    if (!number(word, count_ - 1, "predecessor", from)) {
      return;
    }
    if (from >= id) {
      problem(absl::StrCat("task ", id, " cannot follow task ", from,
                           ": predecessors come earlier in the file"));
      return;
    }
    consumers_[static_cast<size_t>(from)].push_back(id);
  }

  int64_t devices_;
  FileProblems& problems_;
  CostFile& file_;
  int64_t line_ = 0;
  int64_t count_ = -1;
  std::vector<std::vector<int>> consumers_;  // by task
};

}  // namespace

void readStandardTaskGraph(absl::string_view text, int64_t devices, FileProblems& problems,
                           CostFile& file) {
  if (devices < 1 || devices > kMostDevices) {
    problems.add("",
                 absl::StrCat("a standard task graph needs --devices N, from 1 to ", kMostDevices));
    return;
  }
  for (int64_t d = 0; d < devices; ++d) {
    addDevice(file.cluster, absl::StrCat("p", d), "machine");
  }
  file.cluster.otherLinks = freeLink();
  file.unit = "units";
  TaskGraphReader(devices, problems, file).read(text);
}

}  // namespace graphrun::placement
