// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "config/flow/flow_fault.h"
#include "gen/traffic/variable_fields.h"
#include "roce/compose.h"

namespace lw::gen {

/// A message's last packet where messages differ in size: its payload is as long as `moving` says.
///
/// It is composed whole each time. Templates by length would cost patch tables by length as well,
/// for every distance from the end: 28 KiB each, 100 MiB for all lengths up to 4096, all of it
/// cold. Composing one whole takes 0.25 us (tests/bench/gen_bench.cpp), once a message.
class ElasticFrame {
 public:
  /// `payload` holds the longest and must outlive it. With `signed_by` payloads that have the room
  /// begin with a signature with that flow id.
  ElasticFrame(roce::FrameFields fields, wire::Bytes payload, const std::uint32_t* signed_by,
               std::optional<config::FaultKind> fault);

  [[nodiscard]] std::size_t size(std::size_t payload_length) const noexcept;
  /// Bytes before its payload.
  [[nodiscard]] std::size_t headers() const noexcept;
  [[nodiscard]] bool has_signature(std::size_t payload_length) const noexcept;

  /// Writes size(moving.payload) bytes.
  void write(const VariableFields& moving, wire::MutableBytes out) noexcept;

 private:
  roce::FrameFields fields_;
  wire::Bytes payload_;
  std::optional<std::uint32_t> signed_by_;
  std::optional<config::FaultKind> fault_;
};

}  // namespace lw::gen
