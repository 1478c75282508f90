// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/figure.h"
#include "roce/class_settings.h"
#include "wire/bth.h"

namespace lw::gen {

/// Class of a QP's packets as verbs and connection managers have it: that of data, for all kinds.
/// A passive side sends in the class of the active one, unless it has one of its own.
struct QpClass {
  std::uint8_t traffic_class = 0;  // DSCP and ECN; 0: not set
  std::uint8_t hop_limit = 64;
  std::uint8_t service_level = 0;  // 0 to 7
  std::uint32_t flow_label = 0;    // 20 bits; 0: not set
  std::uint16_t p_key = wire::kDefaultPKey;
  friend bool operator==(const QpClass&, const QpClass&) = default;
  static const FigureTable& figures();
};

/// What a class has of it.
QpClass qp_class_of(const roce::ClassOfTraffic& traffic) noexcept;
/// The class that it asks for. What is not set, and a hop limit of 1, asks for nothing; CE, which
/// nodes on the way set, asks for ECT(0).
roce::ClassOfTraffic class_of(const QpClass& asked) noexcept;

}  // namespace lw::gen
