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

/// Options between spaces; of a heading that commands give there are none.
struct Row {
  std::string_view heading;
  std::string_view options{};  // of --help
  std::string_view rare{};     // only of --help-all
  bool all_rare = false;       // of a heading that commands give: none is in --help
};

/// tests/e2e/command_line.py fails where a name is no option, and where a list is too long.
constexpr Row kRows[] = {
    {kPathHeading},
    {kPaceHeading},
    {kRewriteHeading},
    {"What is sent", "--op --size --all --pattern --bidirectional --mtu",
     "--imm --data --verify --transport --packet-payload --buffers --slots --imm-every --no-check"},
    {"How much", "--qps --tx-depth --reads --iterations --duration --forever",
     "--outstanding --responder-reads --psn-window --ack-every --round-trips "
     "--most-packets --margin"},
    {"Connection", "--port --peer --token --address --network --path --delay --distance --loss",
     "--cm --peer-mac --mac --encapsulation --service --accept --token-file"},
    {"Simulated path and NICs", "--rate --seed",
     "--nic-latency --nic-per-packet --nic-per-message --arbitration --receive-limit "
     "--path-buffer --mark --reorder-packets --sample --warm-up"},
    {"RDMA device", "--device --gid --inline --poll --post-list --signal"},
    {"Timing", "--timeout --retries --selective-repeat --rate-control --qp-rate --cc",
     "--adaptive --set --receives --repost --credits --rnr-timer --rnr-retries"},
    {"Waits, clocks and cores",
     "--wait-link --until-idle --idle-limit --on-link-loss --clock --catch-up --core --cores",
     "--wait --idle --start-skew"},
    {"Measurement", "--check-icrc --join --profile --sent"},
    {"Output", "--json --expect --html --pcap --series --interval --live",
     "--pcap-at --pcap-bytes --rotate --ring --ledger --histogram --junit --strict-machine "
     "--report-to --rank-reports --draw --verbose --quiet"},
    {"Sweeps", "--sweep", "--out --repeats --study"},
    {"Web page and control",
     "--web --web-token-file --web-read-only --web-files --control --metrics --dpdk-telemetry "
     "--file-prefix --ready-file"},
    {kClassHeading, {}, {}, true},
};

/// An option of the table.
struct Place {
  std::string_view heading;
  bool rare = false;
};

std::unordered_map<std::string_view, Place> places_of_options() {
  std::unordered_map<std::string_view, Place> places;
  for (const Row& row : kRows)
    for (const bool rare : {false, true})
      for (const auto name : std::views::split(rare ? row.rare : row.options, ' '))
        places.emplace(std::string_view(name), Place{row.heading, rare});
  return places;
}

/// The place of an option ("--qps") in a command with many; no heading for others.
Place place_of(std::string_view option) {
  static const auto kPlaces = places_of_options();
  const auto found = kPlaces.find(option);
  return found == kPlaces.end() ? Place{} : found->second;
}

/// The place of a heading in the order; 0 for one that the table lacks.
std::size_t place_of_heading(std::string_view heading) noexcept {
  const auto row = std::ranges::find(kRows, heading, &Row::heading);
  return row == std::end(kRows) ? 0 : static_cast<std::size_t>(row - std::begin(kRows)) + 1;
}

bool is_rare_heading(std::string_view heading) noexcept {
  const std::size_t place = place_of_heading(heading);
  return place > 0 && kRows[place - 1].all_rare;
}

/// Whether the options without a heading of their own are few.
bool has_one_list(const Options& options) {
  const auto without = std::ranges::count_if(
      options, [](const Option& each) { return each.group.empty() && !each.is_positional(); });
  return static_cast<std::size_t>(without) <= kMostInOneList;
}

}  // namespace

bool is_rare(const Options& options, const Option& option) {
  if (has_one_list(options) || option.is_positional() || option.is_required) return false;
  return option.group.empty() ? place_of(option.name()).rare : is_rare_heading(option.group);
}

std::vector<OptionGroup> groups_of(const Options& options) {
  const bool one_list = has_one_list(options);
  std::vector<OptionGroup> groups = {{}};
  for (const Option& option : options) {
    const std::string_view heading = !option.group.empty() ? option.group
                                     : one_list || option.is_positional()
                                         ? std::string_view()
                                         : place_of(option.name()).heading;
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
