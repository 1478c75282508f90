// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/job_file.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "config/impair/table_keys.h"
#include "core/quantity.h"
#include "gen/limits.h"
#include "gen/network/job_trace.h"

namespace lw::gen {
namespace {

using namespace config;
using sim::Algorithm, sim::Collective, sim::CollectiveConfig, sim::JobConfig;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 44;
/// Of all ranks: a run keeps when each begins and ends.
constexpr std::uint64_t kMostIterations = 10'000'000;

template <class Enum, std::size_t kCount>
constexpr auto choices() {
  std::array<Choice<Enum>, kCount> names{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto value = static_cast<Enum>(i);
    names[i] = {sim::name_of(value), value};
  }
  return names;
}

/// A time of up to an hour.
Duration time_of(const Table& table, std::string_view key, Duration usual = {}) {
  const Duration time = table.get_or(key, parse_duration, usual);
  if (time > kLongestJobPart) table.refuse(key, "expected at most 1h");
  return std::min(time, kLongestJobPart);
}

CollectiveConfig read_collective(const Table& table, std::size_t ranks) {
  static const auto kCollectives = choices<Collective, 6>();
  static const auto kAlgorithms = choices<Algorithm, 5>();
  CollectiveConfig to{.ranks = static_cast<std::uint32_t>(ranks)};
  to.collective =
      table
          .require("collective", choice(std::span<const Choice<Collective>>(kCollectives)),
                   "such as \"all-reduce\"")
          .value_or(Collective::all_reduce);
  const bool direct = to.collective == Collective::all_to_all;
  to.algorithm = table.get_or("algorithm", choice(std::span<const Choice<Algorithm>>(kAlgorithms)),
                              direct ? Algorithm::direct : Algorithm::ring);
  to.bytes = table.require("size", parse_bytes, "such as \"1GiB\"").value_or(ranks);
  if (to.bytes > kMostBytes)
    table.refuse("size", fmt::format("expected at most 16 TiB, found {} B", to.bytes));
  to.groups = table.get_or("groups", integer<std::uint32_t>(1, sim::kMostHosts), 2);
  if (to.algorithm != Algorithm::hierarchical && table.has("groups"))
    table.refuse("groups", "expected algorithm = \"hierarchical\" beside it");
  to.channels = table.get_or("channels", integer<std::uint32_t>(1, 64), 1);
  to.chunk = table.get_or("chunk", parse_bytes, std::uint64_t{0});
  return to;
}

void add_schedule(const Table& table, JobConfig& job) {
  auto schedule = sim::schedule_of(job.collective);
  if (!schedule) return table.refuse("collective", schedule.error().message);
  job.schedule = std::move(*schedule);
  if (const std::uint64_t most = sim::longest_message(job.schedule); most > kMostMessage)
    table.refuse("size", fmt::format("expected messages of at most 2 GiB, RDMA's longest, found "
                                     "{} B: use a `chunk`",
                                     most));
}

/// Messages from a file, in place of a collective.
void read_trace(const Table& table, const std::filesystem::path& folder, JobConfig& job) {
  for (const char* key : {"collective", "algorithm", "size", "groups", "channels", "chunk"})
    if (table.has(key)) table.refuse(key, "expected it or a trace, found both");
  const std::size_t ranks = job.ranks.size();
  auto schedule = keys_of(table, folder)->file<sim::Schedule>("trace", [&](std::string_view csv) {
    return parse_job_trace(csv, ranks);
  });
  job.collective = {.collective = Collective::trace,
                    .algorithm = Algorithm::direct,
                    .ranks = static_cast<std::uint32_t>(ranks)};
  if (!schedule) return;
  job.schedule = std::move(*schedule);
  for (const sim::JobMessage& each : job.schedule) job.collective.bytes += each.bytes;
}

/// The messages of the ranks, of which there are two at least.
void read_messages(const Table& table, const std::filesystem::path& folder, JobConfig& job) {
  if (table.has("trace")) return read_trace(table, folder, job);
  job.collective = read_collective(table, job.ranks.size());
  if (job.collective.bytes <= kMostBytes) add_schedule(table, job);
}

}  // namespace

JobConfig read_job(const Table& table, const std::filesystem::path& folder,
                   std::vector<sim::Node> ranks, Duration step_overhead) {
  JobConfig job{.name = table.get_or("name", read_text, ""), .ranks = std::move(ranks)};
  job.step_overhead = time_of(table, "step_overhead", step_overhead);
  job.compute = time_of(table, "compute");
  job.overlap = table.get_or("overlap", number(0, 1), 0);
  job.repeat = table.get_or("repeat", integer<std::uint32_t>(1, 1'000'000), 1);
  if (job.repeat * std::uint64_t{job.ranks.size()} > kMostIterations)
    table.refuse("repeat",
                 fmt::format("expected at most {} iterations of all ranks together, found "
                             "{} of {} ranks",
                             kMostIterations, job.repeat, job.ranks.size()));
  job.start = time_of(table, "start");
  if (job.ranks.size() < 2) {
    table.refuse("ranks", fmt::format("expected two hosts or more, found {}", job.ranks.size()));
    return job;
  }
  read_messages(table, folder, job);
  if (job.name.empty()) job.name = sim::name_of(job.collective.collective);
  table.finish();
  return job;
}

}  // namespace lw::gen
