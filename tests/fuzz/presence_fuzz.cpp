// SPDX-License-Identifier: BSD-3-Clause
// Answering any frame reads no byte outside it.
#include <cstdint>
#include <cstdlib>

#include "gen/arp/arp_responder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lw::gen::ArpResponder responder({
      {*lw::wire::parse_mac("02:00:00:00:0a:02"), *lw::wire::parse_ip("192.0.2.2")},
      {*lw::wire::parse_mac("02:00:00:00:0a:02"), *lw::wire::parse_ip("2001:db8::2")},
  });
  const lw::wire::Bytes frame(reinterpret_cast<const std::byte*>(data), size);
  std::vector<std::byte> out, again;
  if (responder.answer(frame, out) && responder.answer(out, again))
    std::abort();  // an answer is no request
  (void)lw::gen::neighbor_entry_in(frame);
  return 0;
}
