// SPDX-License-Identifier: BSD-3-Clause
#include "app/option_groups.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <unordered_map>

namespace lw::app {
namespace {

/// A command with at most this number of options without a heading of their own has one list.
constexpr std::size_t kMostInOneList = 20;

struct Row {
  std::string_view heading;
  std::string_view options{};  // between spaces; none where commands give the heading
};

/// tests/e2e/command_line.py fails where a name is no option, and where a list is too long.
constexpr Row kRows[] = {
    {kPathHeading},
    {kPaceHeading},
    {kRewriteHeading},
    {"Messages and windows",
     "--imm --data --verify --transport --outstanding --reads --responder-reads --psn-window "
     "--ack-every --mtu --packet-payload --buffers --round-trips --margin --all --forever "
     "--slots --imm-every --no-check"},
    {"Path and NICs of a simulation",
     "--rate --nic-latency --nic-per-packet --nic-per-message --arbitration --receive-limit "
     "--path-buffer --mark --sample --warm-up"},
    {"Retransmission", "--timeout --retries --adaptive --selective-repeat --reorder-packets"},
    {"Receives", "--receives --repost --credits --rnr-timer --rnr-retries"},
    {"Rate control", "--rate-control --qp-rate"},
    {"RDMA device", "--device --gid --inline --poll --post-list --signal"},
    {"Port and peer",
     "--token --cm --peer-mac --address --mac --encapsulation --service --accept --token-file"},
    {"Waits, clocks and cores",
     "--wait --wait-link --until-idle --idle --idle-limit --on-link-loss --clock --catch-up --core "
     "--cores --start-skew"},
    {"Measurement", "--check-icrc --join --profile --sent"},
    {"Sweeps", "--sweep --out --repeats --study"},
    {"Captures, ledger and time series",
     "--pcap-at --pcap-bytes --rotate --ring --ledger --series --interval --histogram"},
    {"Verdict and reports", "--expect --junit --strict-machine --html --report-to --rank-reports"},
    {"Live view and control",
     "--live --quiet --web --web-token-file --web-read-only --web-files --control --metrics "
     "--dpdk-telemetry --file-prefix --ready-file --verbose"},
    {kClassHeading},
    {kReactionHeading},
    {kNotificationHeading}};

std::unordered_map<std::string_view, std::string_view> headings_of_options() {
  std::unordered_map<std::string_view, std::string_view> headings;
  for (const Row& row : kRows)
    for (const auto name : std::views::split(row.options, ' '))
      headings.emplace(std::string_view(name), row.heading);
  return headings;
}

/// The heading of an option ("--qps") in a command with many; empty for a common one.
std::string_view usual_heading(std::string_view option) {
  static const auto kHeadings = headings_of_options();
  const auto found = kHeadings.find(option);
  return found == kHeadings.end() ? std::string_view() : found->second;
}

/// The place of a heading in the order; 0 for one that the table lacks.
std::size_t place_of_heading(std::string_view heading) noexcept {
  const auto row = std::ranges::find(kRows, heading, &Row::heading);
  return row == std::end(kRows) ? 0 : static_cast<std::size_t>(row - std::begin(kRows)) + 1;
}

}  // namespace

std::vector<OptionGroup> groups_of(const Options& options) {
  const auto without = std::ranges::count_if(
      options, [](const Option& each) { return each.group.empty() && !each.is_positional(); });
  const bool one_list = static_cast<std::size_t>(without) <= kMostInOneList;
  std::vector<OptionGroup> groups = {{}};
  for (const Option& option : options) {
    const std::string_view heading = !option.group.empty() ? option.group
                                     : one_list || option.is_positional()
                                         ? std::string_view()
                                         : usual_heading(option.name());
    auto group = std::ranges::find(groups, heading, &OptionGroup::heading);
    if (group == groups.end()) group = groups.insert(group, {heading, {}});
    group->options.push_back(&option);
  }
  std::ranges::stable_sort(groups, {}, [](const OptionGroup& group) {
    return group.heading.empty() ? 0 : place_of_heading(group.heading);
  });
  return groups;
}

}  // namespace lw::app
