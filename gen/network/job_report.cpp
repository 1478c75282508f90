// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/job_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "report/table.h"
#include "sim/job/comparison.h"

namespace lw::gen {
namespace {

using sim::IterationResult, sim::JobResult, sim::NetworkResult;

double microseconds(Duration time) noexcept { return static_cast<double>(time.count()) / 1000; }
double microseconds(const IterationResult& iteration) noexcept {
  return microseconds(iteration.ended - iteration.began);
}

std::optional<double> microseconds(const std::optional<Duration>& time) noexcept {
  if (!time) return std::nullopt;
  return microseconds(*time);
}

/// The part of an iteration in which a rank computes and may not communicate.
double alone_us(const sim::JobConfig& job) noexcept {
  return microseconds(job.compute) * (1 - job.overlap);
}

/// What each job takes on another network; nothing if it does not end within the duration, or the
/// network drops more packets.
std::vector<std::optional<Duration>> times_on(sim::NetworkRunConfig config,
                                              const sim::NetworkProgress& progress,
                                              std::uint64_t most_drops = ~std::uint64_t{0}) {
  const NetworkResult result = sim::run_network(config, {}, progress);
  std::vector<std::optional<Duration>> times;
  for (std::size_t i = 0; i < config.jobs.size(); ++i) {
    const JobResult& job = result.jobs[i];
    const bool ended =
        job.iterations.size() == config.jobs[i].repeat && result.dropped() <= most_drops;
    times.push_back(ended ? std::optional(job.elapsed()) : std::nullopt);
  }
  return times;
}

std::string time_text(const std::optional<Duration>& time) {
  return time ? format_duration(*time) : "-";
}

/// Time over that in one site: "1.83".
std::string times_text(const JobReport& job) {
  if (!job.ended() || !job.one_site || *job.one_site == Duration{}) return "-";
  return fmt::format("{:.2f}", microseconds(job.result.elapsed()) / microseconds(*job.one_site));
}

using sim::StepResult, sim::TimeParts;

template <Duration TimeParts::* member>
double part_us(const TimeParts& parts) noexcept {
  return microseconds(parts.*member);
}

/// What a time of a job was spent on.
const FigureTable& part_figures() {
  using Row = FigureOf<TimeParts>;
  static constexpr Figure kRows[] = {
      Row::of<&part_us<&TimeParts::computing>>(
          "computing_us", "Computing; also until the start that a trace gives a message.",
          Unit::us),
      Row::of<&part_us<&TimeParts::overhead>>("overhead_us", "Overhead of steps.", Unit::us),
      Row::of<&part_us<&TimeParts::path>>("path_us", "Delay of links, switches and NICs.",
                                          Unit::us),
      Row::of<&part_us<&TimeParts::serialisation>>(
          "serialisation_us",
          "Bytes of the rank's own messages, at the rate of the slowest link of the way.",
          Unit::us),
      Row::of<&part_us<&TimeParts::window>>(
          "window_us", "A window or the send queue was full: an ACK had to come first.", Unit::us),
      Row::of<&part_us<&TimeParts::recovery>>(
          "recovery_us", "From when a packet was sent that was lost until it was retransmitted.",
          Unit::us),
      Row::of<&part_us<&TimeParts::congestion>>(
          "congestion_us", "The rest: packets of others, pauses, congestion control.", Unit::us)};
  static constexpr FigureTable kTable{"What a time of a job was spent on.", kRows};
  return kTable;
}

double mean_us(const StepResult& step) noexcept {
  return microseconds(step.parts.total()) / static_cast<double>(step.messages);
}

constexpr auto kPartsOfStep = [](auto& step) -> auto& { return step.result.parts; };
constexpr auto kPartsOfJob = [](auto& job) -> auto& { return job.result.parts; };

/// The step whose messages take the longest on average; null: there is none.
const JobStep* slowest_step(const std::vector<JobStep>& steps) {
  const auto most =
      std::ranges::max_element(steps, {}, [](const JobStep& step) { return mean_us(step.result); });
  return most == steps.end() ? nullptr : &*most;
}

}  // namespace

const FigureTable& JobStep::figures() {
  using Row = FigureOf<JobStep>;
  static constexpr Figure kRows[] = {
      Row::of<&JobStep::number>(
          "step", "From 1; a message is one step behind the last one that it waits for."),
      Row::of<[](const JobStep& s) { return s.result.messages; }>(
          "messages", "Messages that arrived, of all iterations."),
      Row::of<[](const JobStep& s) { return gen::mean_us(s.result); }>(
          "mean_us", "Mean time from when a message may be sent until it has arrived.", Unit::us),
      Row::of<[](const JobStep& s) { return microseconds(s.result.longest); }>(
          "longest_us", "Longest of these times.", Unit::us),
      Row::of<&JobStep::slowest>("slowest", "Host that waited for that message."),
      Row::with_table<kPartsOfStep, part_figures>("spent", "Sum of the times, by cause.")};
  static constexpr FigureTable kTable{"A step of a job.", kRows};
  return kTable;
}

std::vector<JobStep> JobReport::steps() const {
  std::vector<JobStep> steps;
  for (std::size_t i = 0; i < result.steps.size(); ++i)
    if (result.steps[i].messages > 0)
      steps.push_back(
          {i + 1, result.steps[i], topology.name(config.ranks[result.steps[i].slowest])});
  return steps;
}

double JobReport::mean_us() const noexcept {
  double sum = 0;
  for (const IterationResult& each : result.iterations) sum += microseconds(each);
  return result.iterations.empty() ? 0 : sum / static_cast<double>(result.iterations.size());
}

double JobReport::least_us() const noexcept {
  double least = most_us();
  for (const IterationResult& each : result.iterations) least = std::min(least, microseconds(each));
  return least;
}

double JobReport::most_us() const noexcept {
  double most = 0;
  for (const IterationResult& each : result.iterations) most = std::max(most, microseconds(each));
  return most;
}

double JobReport::algorithm_gbps() const noexcept {
  if (result.iterations.empty()) return 0;
  const auto count = static_cast<double>(result.iterations.size());
  const double us = microseconds(result.elapsed()) / count - alone_us(config);
  return us > 0 ? static_cast<double>(config.collective.bytes) * 8 / us / 1000 : 0;
}

double JobReport::bus_gbps() const noexcept {
  return algorithm_gbps() * sim::bus_factor(config.collective.collective, config.collective.ranks);
}

std::string JobReport::slowest() const {
  std::map<std::uint32_t, std::size_t> times;
  for (const IterationResult& each : result.iterations) ++times[each.slowest];
  if (times.empty()) return {};
  const auto most =
      std::ranges::max_element(times, {}, [](const auto& each) { return each.second; });
  return topology.name(config.ranks[most->first]);
}

const FigureTable& JobReport::figures() {
  using J = JobReport;
  using Row = FigureOf<JobReport>;
  static constexpr Figure kRows[] = {
      Row::of<[](const J& j) -> const std::string& { return j.config.name; }>("job", "Its name."),
      Row::of<[](const J& j) { return sim::name_of(j.config.collective.collective); }>(
          "collective", "What its ranks exchange."),
      Row::of<[](const J& j) { return sim::name_of(j.config.collective.algorithm); }>(
          "algorithm", "How they do it."),
      Row::of<[](const J& j) { return j.config.ranks.size(); }>("ranks", "Number of ranks."),
      Row::of<[](const J& j) { return j.config.collective.bytes; }>(
          "size", "Bytes of the collective, as nccl-tests count them.", Unit::bytes),
      Row::of<[](const J& j) { return j.config.collective.channels; }>(
          "channels", "Shares of the data that go side by side."),
      Row::of<[](const J& j) { return j.result.iterations.size(); }>(
          "iterations", "Iterations that all ranks ended."),
      Row::of<&J::ended>("ended", "True if these are all that were asked for."),
      Row::of<[](const J& j) { return microseconds(j.result.elapsed()); }>(
          "elapsed_us", "From the begin of the first to the end of the last.", Unit::us),
      Row::of<&J::mean_us>("iteration_mean_us", "Mean time of an iteration.", Unit::us),
      Row::of<&J::least_us>("iteration_least_us", "Shortest one.", Unit::us),
      Row::of<&J::most_us>("iteration_most_us", "Longest one.", Unit::us),
      Row::of<[](const J& j) { return microseconds(j.config.compute); }>(
          "compute_us", "Of that, computing of each rank.", Unit::us),
      Row::of<&J::algorithm_gbps>(
          "algorithm_gbps",
          "Bytes of the collective over the elapsed time of an iteration, without what is only "
          "computing: nccl-tests' algorithm bandwidth.",
          Unit::gbps),
      Row::of<&J::bus_gbps>("bus_gbps",
                            "That times the share of the bytes that a link carries: nccl-tests' "
                            "bus bandwidth.",
                            Unit::gbps),
      Row::of<&J::slowest>("slowest", "Host of the rank that ended most iterations last."),
      Row::of<[](const J& j) { return microseconds(j.one_site); }>(
          "one_site_us",
          "What the jobs take if links of 1 km and more have no delay; null: longer than the run.",
          Unit::us)
          .or_null(),
      Row::of<[](const J& j) { return microseconds(j.ideal); }>(
          "ideal_us",
          "What they take if one switch joins all hosts without delay; null: longer than the run, "
          "or "
          "its buffer of 256 MiB was too small.",
          Unit::us)
          .or_null(),
      Row::with_table<kPartsOfJob, part_figures>(
          "spent",
          "The elapsed time by cause, along the chain of events that led to the last end: before "
          "each event, the one that came last of all that it waited for."),
      Row::of<&J::steps>("steps", "Steps of the job; the first 1,000.")};
  static constexpr FigureTable kTable{"A job of a network.", kRows};
  return kTable;
}

std::vector<JobReport> compare_jobs(const sim::NetworkRunConfig& config, const NetworkResult& of,
                                    const sim::NetworkProgress& progress) {
  if (config.jobs.empty()) return {};
  sim::NetworkRunConfig other = config;
  other.topology = sim::in_one_site(config.topology);
  const auto one_site = times_on(other, progress);
  other.topology = sim::ideal_network(config.topology);
  other.workload.sendings.clear();
  const auto ideal = times_on(other, progress, 0);
  std::vector<JobReport> jobs;
  for (std::size_t i = 0; i < config.jobs.size(); ++i)
    jobs.push_back({config.jobs[i], of.jobs[i], config.topology, one_site[i], ideal[i]});
  return jobs;
}

namespace {

std::string times_table(const std::vector<JobReport>& jobs) {
  using enum report::Align;
  report::TextTable table({{"job", left},
                           {"iterations", right},
                           {"time", right},
                           {"one site", right},
                           {"times that", right},
                           {"ideal", right},
                           {"iteration[us]", right},
                           {"algbw[Gb/s]", right},
                           {"busbw[Gb/s]", right},
                           {"slowest", left}});
  for (const JobReport& job : jobs)
    table.add_row(
        {job.config.name, fmt::format("{} of {}", job.result.iterations.size(), job.config.repeat),
         job.ended() ? format_duration(job.result.elapsed()) : "-", time_text(job.one_site),
         times_text(job), time_text(job.ideal), fmt::format("{:.1f}", job.mean_us()),
         fmt::format("{:.2f}", job.algorithm_gbps()), fmt::format("{:.2f}", job.bus_gbps()),
         job.slowest()});
  return table.to_string(2);
}

std::string step_text(const JobReport& job) {
  const std::vector<JobStep> steps = job.steps();
  const JobStep* const slowest = slowest_step(steps);
  if (slowest == nullptr) return "-";
  return fmt::format("{} of {}: {:.1f} us", slowest->number, steps.size(),
                     mean_us(slowest->result));
}

/// Shares of the elapsed time.
std::string parts_table(const std::vector<JobReport>& jobs) {
  using enum report::Align;
  report::TextTable table({{"% of the time", left},
                           {"computing", right},
                           {"overhead", right},
                           {"path", right},
                           {"serialisation", right},
                           {"window", right},
                           {"recovery", right},
                           {"congestion", right},
                           {"slowest step", left}});
  for (const JobReport& job : jobs) {
    const TimeParts& parts = job.result.parts;
    const auto share = [&](Duration part) {
      const double all = microseconds(parts.total());
      return all > 0 ? fmt::format("{:.1f}", 100 * microseconds(part) / all) : std::string("-");
    };
    table.add_row({job.config.name, share(parts.computing), share(parts.overhead),
                   share(parts.path), share(parts.serialisation), share(parts.window),
                   share(parts.recovery), share(parts.congestion), step_text(job)});
  }
  return table.to_string(2);
}

}  // namespace

std::string jobs_text(const std::vector<JobReport>& jobs) {
  if (jobs.empty()) return {};
  return times_table(jobs) + "\n" + parts_table(jobs);
}

namespace {

/// "1 of 3 iterations have not ended: 2 messages wait for ever, ..."
std::string unended_text(const JobReport& job) {
  const auto left = job.config.repeat - job.result.iterations.size();
  std::string text =
      fmt::format("{} of {} {} not ended", format_count(left),
                  counted(job.config.repeat, "iteration"), left == 1 ? "has" : "have");
  const auto& stuck = job.result.stuck;
  if (stuck.empty()) return text;
  const auto host = [&](std::uint32_t rank) { return job.topology.hosts[job.config.ranks[rank]]; };
  return text +
         fmt::format(
             ": {} for ever, the first from {} to {} (step {}): a packet was lost, "
             "no later one shows it, and --timeout 0 sets no timer",
             stuck.size() == 1 ? "1 message waits" : fmt::format("{} messages wait", stuck.size()),
             host(stuck.front().from), host(stuck.front().to), stuck.front().step);
}

std::string_view remedy_of_job(const JobReport& job, const NetworkResult& run) noexcept {
  if (!job.result.stuck.empty()) return "set a local ACK timeout: --timeout";
  return run.failed == 0 && !run.stopped ? "allow more time: --duration" : "";
}

}  // namespace

void observe_jobs(Judge& judge, const std::vector<JobReport>& jobs, const NetworkResult& run) {
  for (const JobReport& job : jobs)
    judge.add({.name = "jobs",
               .of = job.config.name,
               .value = job.ended() ? 0 : 1,
               .text = job.ended()
                           ? fmt::format("{} in {}", counted(job.config.repeat, "iteration"),
                                         format_duration(job.result.elapsed()))
                           : unended_text(job),
               .count = job.config.repeat,
               .remedy = std::string(remedy_of_job(job, run))});
}

std::optional<report::Plot> jobs_plot(const std::vector<JobReport>& jobs) {
  report::Plot plot{.title = "Time of each iteration",
                    .x = {.label = "iteration"},
                    .y = {.label = "ms"},
                    .curves = {}};
  for (const JobReport& job : jobs) {
    if (job.result.iterations.size() < 2) continue;
    report::PlotCurve& curve =
        plot.curves.emplace_back(report::PlotCurve{.name = job.config.name, .points = {}});
    double number = 0;
    for (const IterationResult& each : job.result.iterations)
      curve.points.push_back({++number, microseconds(each) / 1000, {}, {}});
  }
  if (plot.curves.empty()) return std::nullopt;
  return plot;
}

}  // namespace lw::gen
