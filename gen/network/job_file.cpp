// SPDX-License-Identifier: BSD-3-Clause
#include "gen/network/job_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/impair/table_keys.h"
#include "config/toml/settings.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "gen/network/job_trace.h"

namespace lw::gen {
namespace {

using namespace config;
using sim::Algorithm, sim::Collective, sim::CollectiveConfig, sim::JobConfig;

/// Of all ranks: a run keeps when each begins and ends.
constexpr std::uint64_t kMostIterations = 10'000'000;

/// Checks what a collective needs besides the bounds of its settings.
void check_collective(const Table& table, CollectiveConfig& collective) {
  const std::pair<const char*, const char*> required[] = {{"collective", "such as \"all-reduce\""},
                                                          {"size", "such as \"1GiB\""}};
  for (const auto& [key, what] : required)
    if (!table.has(key)) table.refuse(key, fmt::format("expected {}, found none", what));
  if (collective.bytes == 0) collective.bytes = collective.ranks;
  if (!table.has("algorithm") && collective.collective == Collective::all_to_all)
    collective.algorithm = Algorithm::direct;
  if (collective.algorithm != Algorithm::hierarchical && table.has("groups"))
    table.refuse("groups", "expected algorithm = \"hierarchical\" beside it");
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
  check_collective(table, job.collective);
  add_schedule(table, job);
}

}  // namespace

JobConfig read_job(const Table& table, const std::filesystem::path& folder,
                   std::vector<sim::Node> ranks, Duration step_overhead) {
  JobConfig job{.name = table.get_or("name", read_text, ""),
                .ranks = std::move(ranks),
                .step_overhead = step_overhead};
  job.collective.ranks = static_cast<std::uint32_t>(job.ranks.size());
  read_settings(table, job);
  if (job.repeat * std::uint64_t{job.ranks.size()} > kMostIterations)
    table.refuse("repeat",
                 fmt::format("expected at most {} iterations of all ranks together, found "
                             "{} of {} ranks",
                             kMostIterations, job.repeat, job.ranks.size()));
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
