// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/elastic_frame.h"

#include <algorithm>

#include "gen/traffic/frame_fault.h"
#include "wire/signature.h"

namespace lw::gen {

ElasticFrame::ElasticFrame(roce::FrameFields fields, wire::Bytes payload,
                           const std::uint32_t* signed_by, std::optional<config::FaultKind> fault)
    : fields_(std::move(fields)), payload_(payload), fault_(fault) {
  if (signed_by != nullptr) signed_by_ = *signed_by;
}

std::size_t ElasticFrame::size(std::size_t payload_length) const noexcept {
  return roce::layout_of(fields_, payload_length).size;
}

std::size_t ElasticFrame::headers() const noexcept { return roce::layout_of(fields_, 0).payload; }

bool ElasticFrame::has_signature(std::size_t payload_length) const noexcept {
  return signed_by_ && payload_length >= sizeof(wire::Signature);
}

void ElasticFrame::write(const VariableFields& moving, wire::MutableBytes out) noexcept {
  constexpr std::size_t kLongest = 4096;  // the largest MTU
  fields_.bth.psn = moving.psn;
  fields_.bth.ack_req = moving.ack_req;
  fields_.reth.va = fields_.atomiceth.va = moving.va;
  fields_.reth.dma_length = moving.dma_length;
  fields_.aeth.msn = moving.msn & wire::Psn::kMask;
  fields_.immdt.immediate = moving.immediate;
  std::array<std::byte, kLongest> copy;
  wire::Bytes payload = payload_.first(moving.payload);
  if (has_signature(payload.size())) {
    std::ranges::copy(payload, copy.begin());
    wire::view<wire::Signature>(wire::MutableBytes(copy))
        ->set({*signed_by_, moving.sequence, moving.send_time_ns});
    payload = wire::Bytes(copy).first(payload.size());
  }
  const auto layout = roce::layout_of(fields_, payload.size());
  const auto frame = out.first(layout.size);
  roce::compose(fields_, payload, frame);
  if (fault_) spoil(*fault_, fields_.encapsulation, layout, frame);
}

}  // namespace lw::gen
