// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gen/elastic_frame.h"
#include "gen/moving.h"
#include "gen/patch_tables.h"
#include "profile/flow_fault.h"
#include "roce/compose.h"

namespace lw::gen {

/// What a template can do beside the usual.
struct TemplateOptions {
  bool elastic = false;                     // the payload's length moves; `payload` is the longest
  bool moving_length = false;               // the RETH's length moves
  std::optional<profile::FaultKind> fault;  // is_in_bytes(): all its frames have it
};

/// A frame composed once, from which frames with other moving fields are made without reading the
/// payload: each field is written, and what its change does to the ICRC is looked up (DESIGN 2.2).
///
/// An elastic one, whose payload's length moves too, is composed anew instead.
///
/// The template keeps its headers; the payload behind them is the caller's and shared.
class FrameTemplate {
 public:
  /// `payload` must outlive the template. With `signed_by` the payload's first 24 bytes are
  /// replaced by a signature with that flow id; the payload must have the room.
  FrameTemplate(const roce::FrameFields& fields, wire::Bytes payload,
                const std::uint32_t* signed_by, PatchTables& tables,
                const TemplateOptions& options = {});

  /// Bytes of a frame of its, FCS not counted.
  [[nodiscard]] std::size_t size(const Moving& moving) const noexcept {
    return elastic_ ? elastic_->size(moving.payload) : layout_.size;
  }
  /// The same of one that isn't elastic; of an elastic one with the longest payload.
  [[nodiscard]] std::size_t size() const noexcept { return layout_.size; }
  [[nodiscard]] std::size_t payload_length(const Moving& moving) const noexcept {
    return elastic_ ? moving.payload : payload_length_;
  }
  [[nodiscard]] bool has_signature(const Moving& moving) const noexcept {
    return elastic_ ? elastic_->has_signature(moving.payload) : sequence_.patch != nullptr;
  }
  [[nodiscard]] bool is_elastic() const noexcept { return elastic_ != nullptr; }

  /// Writes a whole frame into the first size(moving) bytes of `out`.
  void write(const Moving& moving, wire::MutableBytes out) const noexcept;

  /// The same where `out` holds an earlier frame of this template: touches the moving fields and
  /// the ICRC, and reads nothing.
  void patch(const Moving& moving, wire::MutableBytes out) const noexcept;

 private:
  /// A field that moves: where it stands and what stood there when the ICRC was computed.
  /// Without tables the frame has no such field.
  struct Field {
    const wire::IcrcFieldPatch* patch = nullptr;
    std::size_t offset = 0;
    std::uint64_t base = 0;
  };

  void place_fields(const roce::FrameFields& fields, bool moving_length, PatchTables& tables);
  void place_signature(std::uint32_t flow, wire::MutableBytes payload, PatchTables& tables);

  roce::FrameLayout layout_;
  std::size_t payload_length_ = 0;
  std::vector<std::byte> head_;  // from the start up to where the shared payload goes on
  wire::Bytes rest_;             // the payload behind the head
  std::uint32_t icrc_ = 0;       // of the frame as it was composed
  std::uint8_t reserved7_ = 0;   // the bits beside AckReq
  Field acknowledge_;            // AckReq and PSN, one field of four bytes
  Field va_, length_, msn_, immediate_, sequence_, send_time_;
  std::unique_ptr<ElasticFrame> elastic_;
};

}  // namespace lw::gen
