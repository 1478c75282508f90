// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/results.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/format.h>

namespace lw::gen::experiment {
namespace {

std::optional<double> leading_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return *end == '%' ? value / 100 : value;
}

struct Task {
  std::size_t cell = 0;
  std::uint32_t repeat = 0;
};

std::vector<Task> tasks_of(const std::vector<Cell>& cells) {
  std::vector<Task> tasks;
  for (std::size_t cell = 0; cell < cells.size(); ++cell)
    for (std::uint32_t repeat = 0; repeat < cells[cell].repeats; ++repeat)
      tasks.push_back({cell, repeat});
  return tasks;
}

/// Every thread takes the next task; each result has a place of its own.
class Workers {
 public:
  Workers(Results& results, unsigned jobs) : results_(results), tasks_(tasks_of(results.cells)) {
    results_.runs.resize(results_.cells.size());
    for (std::size_t i = 0; i < results_.cells.size(); ++i)
      results_.runs[i].resize(results_.cells[i].repeats);
    for (unsigned i = 0; i < jobs; ++i) threads_.emplace_back([this] { work(); });
  }

  void watch(const std::function<void(std::size_t, std::size_t)>& progress) {
    constexpr auto kBetween = std::chrono::milliseconds(200);
    std::unique_lock lock(mutex_);
    while (done_ < tasks_.size()) {
      finished_.wait_for(lock, kBetween);
      const std::size_t done = done_;
      lock.unlock();
      progress(done, tasks_.size());
      lock.lock();
    }
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < tasks_.size(); i = next_++) {
      const Task& task = tasks_[i];
      results_.runs[task.cell][task.repeat] =
          results_.cells[task.cell].work.run(results_.profile.seed + task.repeat);
      const std::scoped_lock lock(mutex_);
      if (++done_ == tasks_.size()) finished_.notify_one();
    }
  }

  Results& results_;
  std::vector<Task> tasks_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::size_t done_ = 0;  // under mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace

std::optional<Spread> Results::figure(std::size_t cell, std::string_view name) const {
  std::optional<Spread> spread;
  double sum = 0;
  for (const report::Json& run : runs[cell]) {
    const auto found = run.find(name);
    if (found == run.end() || !found->is_number()) continue;
    const auto value = found->get<double>();
    if (!spread) spread = {value, 0, value};
    spread->min = std::min(spread->min, value);
    spread->max = std::max(spread->max, value);
    sum += value;
  }
  if (spread) {
    spread->average = sum / static_cast<double>(runs[cell].size());
    return spread;
  }
  const std::string* given = cells[cell].find(name);
  const auto value = given ? leading_number(*given) : std::nullopt;
  if (!value) return std::nullopt;
  return Spread{*value, *value, *value};
}

std::string Results::words(std::size_t cell, std::string_view name) const {
  if (const std::string* given = cells[cell].find(name))
    return name == "path" ? std::filesystem::path(*given).stem().string() : *given;
  for (const report::Json& run : runs[cell]) {
    const auto found = run.find(name);
    if (found != run.end() && found->is_string()) return found->get<std::string>();
  }
  const auto spread = figure(cell, name);
  return spread ? number(spread->average) : "";
}

std::vector<std::size_t> Results::cells_of(std::size_t scenario) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].scenario == scenario) found.push_back(i);
  return found;
}

std::string number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  if (std::abs(value) >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

void run_cells(Results& results, unsigned jobs,
               const std::function<void(std::size_t, std::size_t)>& progress) {
  const auto begin = std::chrono::steady_clock::now();
  Workers(results, jobs).watch(progress);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  results.elapsed_s = elapsed.count();
}

}  // namespace lw::gen::experiment
