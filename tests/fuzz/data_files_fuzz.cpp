// SPDX-License-Identifier: BSD-3-Clause
// Any text as a file that is named by a profile or an option: message sizes, recorded jitter,
// traces and lists of frames, layouts of records, experiments and published tables, a sender's
// report; and as the data by which the two sides of perf agree.
#include <fmt/format.h>

#include "config/experiment/profile.h"
#include "config/flow/message.h"
#include "config/impair/profile.h"
#include "config/telemetry/record_layout.h"
#include "gen/experiment/comparison.h"
#include "gen/experiment/results.h"
#include "gen/perf/cm/cm_mad.h"
#include "gen/perf/session/session_params.h"
#include "gen/report/sent_counts.h"
#include "tests/fuzz/whole_command.h"

namespace {

using namespace lw;

/// A refusal always says why.
template <class T>
void expect_reason(const Result<T>& result) {
  if (!result && result.error().message.empty()) std::abort();
}

void read_perf_data(wire::Bytes bytes) {
  static_cast<void>(gen::read_heading(bytes));
  static_cast<void>(gen::read_request(bytes));
  static_cast<void>(gen::read_reply(bytes));
  static_cast<void>(gen::read_refusal(bytes));
  static_cast<void>(gen::read_session_params(bytes));
  static_cast<void>(gen::read_remote_memory(bytes));
  static_cast<void>(gen::read_server_stats(bytes));
}

void read_stage_file(const std::string& path, std::string_view stage) {
  const std::string text = fmt::format("[[rule]]\n{}\n", fmt::format(fmt::runtime(stage), path));
  expect_reason(config::parse_impair_profile(text, "fuzz.toml"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  static const config::FlowProfile flows =
      config::parse_flow_profile("[[flow]]\nname = \"w\"\nsignature = true\n", "p.toml").value();
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  file.set(text);
  const std::string path = file.path();
  static_cast<void>(config::load_size_distribution(path));
  for (const std::string_view stage : {"jitter = {{ distribution = \"histogram\", file = \"{}\" }}",
                                       "jitter = {{ distribution = \"netem\", mean = \"1ms\", "
                                       "deviation = \"1us\", file = \"{}\" }}",
                                       "delay = \"1ms\"\ntrace = {{ file = \"{}\" }}",
                                       "loss = {{ model = \"listed\", file = \"{}\" }}"})
    read_stage_file(path, stage);
  expect_reason(config::parse_record_layout(text, "fuzz.toml"));
  const auto experiment = config::parse_experiment_profile(text, "fuzz.toml");
  expect_reason(experiment);
  if (experiment) expect_reason(gen::experiment::cells_of(*experiment, {}));
  expect_reason(gen::experiment::load_published(path));
  expect_reason(gen::parse_sent_counts(text, "fuzz.json", flows));
  read_perf_data({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
