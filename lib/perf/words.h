// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/figure.h"
#include "transport/qp_config.h"
#include "wire/opcode.h"

/// The names that people give to the kinds of a run: the values of options, of the hand-over
/// between two peers, and of results.
namespace lw::perf {

template <class T, std::size_t size>
using Words = std::array<std::pair<std::string_view, T>, size>;

inline constexpr Words<wire::Transport, 3> kTransportWords = {
    {{"rc", wire::Transport::rc}, {"uc", wire::Transport::uc}, {"ud", wire::Transport::ud}}};

inline constexpr Words<wire::Operation, 5> kOperationWords = {
    {{"write", wire::Operation::write},
     {"send", wire::Operation::send},
     {"read", wire::Operation::read_request},
     {"atomic", wire::Operation::fetch_add},
     {"compare-swap", wire::Operation::cmp_swap}}};

inline constexpr Words<transport::RateControl, 3> kRateControlWords = {
    {{"none", transport::RateControl::none},
     {"fixed", transport::RateControl::fixed},
     {"dcqcn", transport::RateControl::dcqcn}}};

/// The word of --op: "compare-swap".
constexpr std::string_view operation_word(wire::Operation operation) noexcept {
  return name_among(kOperationWords, operation);
}

}  // namespace lw::perf
