// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "core/error.h"
#include "core/figure.h"

namespace lw::gen {

/// What a rank says of itself before a common run.
struct RankSelf {
  std::string machine;                      // machine_name()
  std::string address = {};                 // of perf's endpoint
  std::vector<std::string> ports, receive;  // --port and --receive of its own command line
  static const FigureTable& figures();
};

/// The part of one rank in a common run.
struct RankShare {
  std::string host;  // name of its [[host]], or of its machine: "vm", or "vm/1" of several there
  std::vector<std::string> ports, receive;  // to send to, to measure at
  std::vector<std::uint32_t> flows;         // ids, ascending
};

/// "rank 2 (node17)".
std::string rank_name(std::size_t rank, const std::string& host);

/// The name of this machine.
std::string machine_name();
/// The name of a rank without a [[host]]: that of its machine, with its number if the machine runs
/// several.
std::string usual_name(const std::vector<RankSelf>& ranks, std::size_t rank);

/// Divides a profile among the ranks. A [[host]] is the rank of its number, or the only rank on the
/// machine of its name; its ports replace those of the command line. A flow with a host goes to it;
/// the other [[flow]]s go in turn to the ranks that have ports to send to, each with all its QPs.
/// Errors (usage), with the [[host]]'s position: there is no such rank; several ranks are meant; a
/// host of flows has no port; a rank has neither flows nor a port to receive at.
Result<std::vector<RankShare>> shares_of(const config::FlowProfile& profile,
                                         const std::vector<RankSelf>& ranks);

/// The flows of one rank. Their ids stay those of the whole profile.
config::FlowProfile part_of(const config::FlowProfile& profile, const RankShare& share);

}  // namespace lw::gen
