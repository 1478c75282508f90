// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a frame of any link type, through everything that roce-dissect shows.
#include <cstdint>
#include <span>

#include "dissect/list/list_format.h"
#include "dissect/matching/comparison.h"
#include "dissect/summary/overview.h"
#include "dissect/verify/verdicts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lw;
  if (size < 2) return 0;
  dissect::CapturedFrame captured;
  captured.number = 1;
  captured.record.bytes = {reinterpret_cast<const std::byte*>(data + 2), size - 2};
  captured.record.wire_length = static_cast<std::uint32_t>(size - 2 + data[1]);
  captured.envelope = roce::open_envelope(captured.record.bytes, captured.record.wire_length,
                                          static_cast<roce::LinkType>(data[0] & 3));
  roce::TunnelStack tunnels;
  roce::open_tunnels(captured.envelope, tunnels);
  captured.tunnels = &tunnels;
  const dissect::Dissection dissection(captured);
  std::string out;
  for (const auto style :
       {dissect::ListStyle::text, dissect::ListStyle::json, dissect::ListStyle::csv}) {
    dissect::make_list_format({style})->frame(out, dissection);
  }
  dissect::Overview().add(dissection);
  if (dissection.frame) {
    static_cast<void>(dissect::identity_of(*dissection.frame, {}));
    static_cast<void>(
        dissect::identity_of(*dissection.frame, {.by_icrc = false, .payload = size % 64}));
    static_cast<void>(dissect::HeaderForms().index_of(captured, *dissection.frame));
  }
  if (captured.envelope.fragment) dissect::FragmentTracker().roce_frames(captured.envelope);
  return 0;
}
