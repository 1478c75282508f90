// SPDX-License-Identifier: BSD-3-Clause
#include "transport/dcqcn_config.h"

#include <span>

namespace lw::transport {
namespace {

constexpr std::string_view kAlphaUpdates[] = {"before-cut", "after-cut"};
constexpr std::string_view kCnpScopes[] = {"qp", "destination", "port"};

constexpr double kMost = 1e9;  // no NIC's register holds more

using Config = DcqcnConfig;
using Row = FigureOf<DcqcnConfig>;

constexpr Figure kRows[] = {
    Row::of<&Config::rpg_time_reset_us>("rpg_time_reset",
                                        "Time between two increases of the rate by time.", Unit::us)
        .from(1, kMost),
    Row::of<&Config::rpg_byte_reset>("rpg_byte_reset",
                                     "Bytes between two increases of the rate by bytes; 0: there "
                                     "are none.")
        .from(0, kMost),
    Row::of<&Config::rpg_threshold>(
        "rpg_threshold",
        "Number of the increase, of either kind, from which on the target rate is raised, too.")
        .from(0, 31),
    Row::of<&Config::rpg_ai_rate_mbps>("rpg_ai_rate", "Additive increase of the target rate.",
                                       Unit::mbps)
        .from(0, kMost),
    Row::of<&Config::rpg_hai_rate_mbps>(
        "rpg_hai_rate",
        "Hyper increase of the target rate, once both kinds of increases have reached the "
        "threshold; times the increases of the slower kind since then.",
        Unit::mbps)
        .from(0, kMost),
    Row::of<&Config::rpg_gd>(
        "rpg_gd",
        "Exponent N of a cut: the rate falls by the share alpha / 2^N, with alpha in "
        "1/1024.")
        .from(10, 15),
    Row::of<&Config::rpg_min_dec_fac_percent>(
        "rpg_min_dec_fac", "Least share of the rate that a cut keeps.", Unit::percent)
        .from(0, 100),
    Row::of<&Config::rpg_min_rate_mbps>("rpg_min_rate", "Lowest rate after a cut.", Unit::mbps)
        .from(0.001, kMost),
    Row::of<&Config::rpg_max_rate_mbps>(
        "rpg_max_rate",
        "Highest rate after an increase; 0: the link's rate. A rate within 1 Mb/s of it is no "
        "longer limited, and the next CNP counts as the first.",
        Unit::mbps)
        .from(0, kMost),
    Row::of<&Config::rate_to_set_on_first_cnp_mbps>(
        "rate_to_set_on_first_cnp", "Rate that the first CNP cuts; 0: the link's rate.", Unit::mbps)
        .from(0, kMost),
    Row::of<&Config::dce_tcp_g>("dce_tcp_g",
                                "Share of alpha that is kept, in 1/1024: a CNP sets alpha to share "
                                "x alpha + 1 - share, and a time without one to share x alpha.")
        .from(0, 1024),
    Row::of<&Config::dce_tcp_rtt_us>(
        "dce_tcp_rtt", "Time without a CNP after which alpha falls, again and again.", Unit::us)
        .from(1, kMost),
    Row::of<&Config::rate_reduce_monitor_period_us>("rate_reduce_monitor_period",
                                                    "Least time between two cuts.", Unit::us)
        .from(0, kMost),
    Row::of<&Config::initial_alpha>("initial_alpha", "Alpha at the first CNP, in 1/1024.")
        .from(0, 1024),
    Row::of<&Config::clamp_tgt_rate>(
        "clamp_tgt_rate",
        "Every cut lowers the target rate to the rate before it; false: only a cut after an "
        "increase.")
        .set_to(),
    Row::of<&Config::clamp_tgt_rate_after_time_inc>("clamp_tgt_rate_after_time_inc",
                                                    "Increases by time count for that, too.")
        .set_to(),
    Row::of<&Config::alpha_update>(
        "alpha_update",
        "When a CNP raises alpha: before the cut, as NICs do, or after it, as in "
        "the paper.")
        .set_to(kAlphaUpdates),
    Row::of<&Config::reduce_far_target>(
        "reduce_far_target",
        "The first increase after a cut divides a target above ten times the rate by 8, as in QCN "
        "(IEEE 802.1Q, 32.11).")
        .set_to(),
    Row::of<&Config::min_time_between_cnps_us>("min_time_between_cnps",
                                               "Least time between two CNPs.", Unit::us)
        .from(0, kMost),
    Row::of<&Config::cnp_scope>("cnp_scope",
                                "CNPs that this time applies to: those of a QP, to a destination, "
                                "or of the port.")
        .set_to(kCnpScopes),
    Row::of<&Config::cnp_delay_us>(
        "cnp_delay", "Time from the arrival of a marked packet until its CNP is ready to be sent.",
        Unit::us)
        .from(0, kMost)};
constexpr std::size_t kOfNotification = 3;  // the last rows
constexpr std::span<const Figure> kAll = kRows;

}  // namespace

std::string_view name_of(AlphaUpdate update) noexcept {
  return kAlphaUpdates[static_cast<std::size_t>(update)];
}

std::string_view name_of(CnpScope scope) noexcept {
  return kCnpScopes[static_cast<std::size_t>(scope)];
}

const FigureTable& DcqcnConfig::figures() {
  static constexpr FigureTable kTable{"Parameters of DCQCN.", kAll};
  return kTable;
}

const FigureTable& DcqcnConfig::reaction_point() {
  static constexpr FigureTable kTable{"Parameters of DCQCN's reaction point.",
                                      kAll.first(kAll.size() - kOfNotification)};
  return kTable;
}

const FigureTable& DcqcnConfig::notification_point() {
  static constexpr FigureTable kTable{"Parameters of DCQCN's notification point.",
                                      kAll.last(kOfNotification)};
  return kTable;
}

}  // namespace lw::transport
