// SPDX-License-Identifier: BSD-3-Clause
#include "gen/experiment/cell_runs.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "core/json.h"
#include "gen/experiment/run_journal.h"

namespace lw::gen::experiment {
namespace {

using report::Json;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenReports{200};
/// Interval between two polls for messages of other ranks.
constexpr std::chrono::milliseconds kBetweenPolls{1};

/// Messages between rank 0 and the others.
enum MessageKind : int {
  kReady,   // to 0: the sender can run one more task; with the identity of its experiment
  kTask,    // from 0: the number of a task
  kResult,  // to 0: number of a task, and its result; the sender can run one more
  kStop,    // from 0, instead of a task
  kLeft,    // to 0: the sender has stopped; with the error, if there is one
};

/// Converts each result to text once, on the rank that ran it, so that its numbers are the same in
/// all files.
Json run_task(const ExperimentResults& results, const Task& task) {
  try {
    const Json run = results.cells[task.cell].work.run(results.seed_of(task), {});
    return Json::parse(report::json_line(run));
  } catch (const std::exception& error) {
    return {{"failed", 1}, {"failure", error.what()}};
  }
}

struct FinishedRun {
  Task task;
  Json run;
};

/// Threads of this process that run tasks. All calls from one thread.
class RunThreads {
 public:
  RunThreads(const ExperimentResults& results, std::size_t count)
      : results_(results), count_(count) {
    for (std::size_t i = 0; i < count; ++i)
      threads_.emplace_back([this](const std::stop_token& end) { work(end); });
  }

  [[nodiscard]] bool busy() const noexcept { return begun_ > 0; }
  /// Returns true if a thread has no task.
  [[nodiscard]] bool idle() const noexcept { return begun_ < count_; }
  void begin(const Task& task) {
    ++begun_;
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(task);
    }
    waiting_.notify_one();
  }
  /// Returns the runs that have finished since the last call. Waits at most `longest` for one.
  std::vector<FinishedRun> wait(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, longest, [this] { return !finished_.empty(); });
    begun_ -= finished_.size();
    return std::exchange(finished_, {});
  }

 private:
  void work(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    while (waiting_.wait(lock, end, [this] { return !tasks_.empty(); })) {
      const Task task = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      Json run = run_task(results_, task);
      lock.lock();
      finished_.push_back({task, std::move(run)});
      done_.notify_one();
    }
  }

  const ExperimentResults& results_;
  std::size_t count_, begun_ = 0;
  std::mutex mutex_;
  std::condition_variable_any waiting_;
  std::condition_variable done_;
  std::deque<Task> tasks_;  // guarded by mutex_, like the following members
  std::vector<FinishedRun> finished_;
  std::vector<std::jthread> threads_;
};

/// Rank 0: gives the tasks to its own threads and to other ranks, and collects the results.
class Leader {
 public:
  Leader(ExperimentResults& results, Ranks& ranks, const report::Json& identity,
         const std::atomic<bool>& stop, const RunEvents& events)
      : results_(results),
        ranks_(ranks),
        identity_(identity),
        stop_(stop),
        events_(events),
        tasks_(tasks_of(results.cells)) {
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (!results.has(tasks_[i])) todo_.push_back(i);
    done_ = tasks_.size() - todo_.size();
  }

  Result<void> run(unsigned jobs) {
    const bool alone = ranks_.size() == 1;
    RunThreads threads(results_, std::min<std::size_t>(jobs, todo_.size()));
    events_.progress(done_, tasks_.size());
    while (more() || threads.busy() || left_ + 1 < ranks_.size()) {
      while (more() && threads.idle()) threads.begin(tasks_[next()]);
      for (FinishedRun& finished : threads.wait(alone ? kBetweenReports : kBetweenPolls))
        keep(finished.task, std::move(finished.run));
      while (const auto message = ranks_.poll()) handle(*message);
      report();
    }
    return error_.empty() ? Result<void>{} : fail(error_);
  }

 private:
  [[nodiscard]] bool more() const noexcept {
    return next_ < todo_.size() && !stop_ && error_.empty();
  }
  std::size_t next() noexcept { return todo_[next_++]; }

  void keep(const Task& task, Json run) {
    results_.runs[task.cell][task.repeat] = std::move(run);
    ++done_;
    events_.finished(task);
  }
  void handle(const Ranks::Message& message) {
    if (message.kind == kLeft) {
      ++left_;
      if (!message.text.empty()) note(fmt::format("rank {}: {}", message.from, message.text));
      return;
    }
    if (message.kind == kResult) {
      const auto end_of_number = message.text.find('\n');
      keep(tasks_[std::stoul(message.text)], parse_json(message.text.substr(end_of_number)));
    } else if (const std::string what = difference(parse_json(message.text), identity_);
               !what.empty()) {
      note(fmt::format("rank {} has another experiment or another program than rank 0 ({})",
                       message.from, what));
    }
    if (more()) return ranks_.send(message.from, kTask, std::to_string(next()));
    ranks_.send(message.from, kStop, "");
  }
  void note(std::string error) {
    if (error_.empty()) error_ = std::move(error);
  }
  void report() {
    const auto now = steady_clock::now();
    if (now - reported_ < kBetweenReports && done_ < tasks_.size()) return;
    reported_ = now;
    events_.progress(done_, tasks_.size());
  }

  ExperimentResults& results_;
  Ranks& ranks_;
  const report::Json& identity_;
  const std::atomic<bool>& stop_;
  const RunEvents& events_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> todo_;  // indexes in tasks_
  std::size_t next_ = 0;           // index in todo_
  std::size_t done_ = 0;
  int left_ = 0;  // number of ranks
  std::string error_;
  steady_clock::time_point reported_ = steady_clock::now();
};

}  // namespace

Result<void> run_cells(ExperimentResults& results, unsigned jobs, Ranks& ranks,
                       const report::Json& identity, const std::atomic<bool>& stop,
                       const RunEvents& events) {
  const auto begin = steady_clock::now();
  auto ran = Leader(results, ranks, identity, stop, events).run(jobs);
  const std::chrono::duration<double> elapsed = steady_clock::now() - begin;
  results.elapsed_s = elapsed.count();
  return ran;
}

void serve_runs(const ExperimentResults& results, unsigned jobs, Ranks& ranks,
                const report::Json& identity) {
  const auto tasks = tasks_of(results.cells);
  std::vector<std::size_t> numbers;  // numbers of the tasks that run here
  RunThreads threads(results, jobs);
  for (unsigned i = 0; i < jobs; ++i) ranks.send(0, kReady, identity.dump());
  for (unsigned stopped = 0; stopped < jobs;) {
    while (const auto message = ranks.poll()) {
      if (message->kind == kStop) {
        ++stopped;
        continue;
      }
      numbers.push_back(std::stoul(message->text));
      threads.begin(tasks[numbers.back()]);
    }
    for (const FinishedRun& finished : threads.wait(kBetweenPolls)) {
      const auto number =
          std::ranges::find(numbers, finished.task, [&](std::size_t i) { return tasks[i]; });
      ranks.send(0, kResult, fmt::format("{}\n{}", *number, report::json_line(finished.run)));
      numbers.erase(number);
    }
  }
  ranks.send(0, kLeft, "");
}

void leave(Ranks& ranks, const std::string& reason) {
  if (!ranks.leads()) return ranks.send(0, kLeft, reason);
  for (int left = 0; left + 1 < ranks.size();) {
    const auto message = ranks.poll();
    if (!message) {
      std::this_thread::sleep_for(kBetweenPolls);
    } else if (message->kind == kLeft) {
      ++left;
    } else {
      ranks.send(message->from, kStop, "");
    }
  }
}

}  // namespace lw::gen::experiment
