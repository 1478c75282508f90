// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/hosts.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/toml/table.h"
#include "config/toml/value.h"

namespace lw::config {
namespace {

RankHost read_host(const Table& table) {
  RankHost host;
  host.at = table.place();
  host.name = table.require("name", read_text, "the name of a machine or of a rank").value_or("");
  if (const auto rank = table.get("rank", integer<std::uint16_t>())) host.rank = *rank;
  host.ports = table.get_or("ports", list_of(read_text), {});
  host.receive = table.get_or("receive", list_of(read_text), {});
  table.finish();
  return host;
}

}  // namespace

std::vector<RankHost> read_hosts(const Table& root) {
  std::vector<RankHost> hosts;
  for (const Table& table : root.tables("host")) {
    RankHost host = read_host(table);
    if (std::ranges::find(hosts, host.name, &RankHost::name) != hosts.end())
      table.refuse("name", fmt::format("expected a unique name, found \"{}\" again", host.name));
    const auto taken = std::ranges::find(hosts, host.rank, &RankHost::rank);
    if (host.rank && taken != hosts.end())
      table.refuse("rank", fmt::format("expected another rank than that of host \"{}\", found {}",
                                       taken->name, *host.rank));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

void read_host_of_flow(const Table& table, const std::vector<RankHost>& hosts, Flow& flow) {
  const auto name = table.get("host", read_text);
  if (!name) return;
  const auto found = std::ranges::find(hosts, *name, &RankHost::name);
  if (found == hosts.end())
    return table.refuse("host",
                        fmt::format("expected the name of a [[host]], found \"{}\"", *name));
  flow.host = static_cast<std::uint32_t>(found - hosts.begin());
}

}  // namespace lw::config
