// SPDX-License-Identifier: BSD-3-Clause
#include "upper/rpc/rpc_rdma.h"

#include "upper/limits.h"

namespace lw::upper::rpc {
namespace {

constexpr std::uint32_t kGss = 6, kGssPrivacy = 3;  // RFC 2203, 5

DataRegion read_segment(XdrReader& xdr) noexcept {
  const std::uint32_t handle = xdr.u32(), length = xdr.u32();
  return {.va = xdr.u64(), .length = length, .r_key = handle};
}

void add_region(std::vector<DataRegion>& to, const DataRegion& region) {
  if (to.size() < kMostRegions) to.push_back(region);
}

void read_read_list(XdrReader& xdr, TransportHeader& header) {
  for (std::size_t i = 0; i < kMostRegions && xdr.u32() != 0; ++i) {
    const std::uint32_t position = xdr.u32();
    const DataRegion region = read_segment(xdr);
    if (!xdr.ok()) return;
    add_region(header.reads, region);
    header.reads.back().holds_message = position == 0;
    if (position == 0) header.call_bytes += region.length;
  }
}

void read_array(XdrReader& xdr, std::vector<DataRegion>& to) {
  const std::uint32_t count = xdr.u32();
  for (std::uint32_t i = 0; i < count && xdr.ok(); ++i) {
    const DataRegion region = read_segment(xdr);
    if (xdr.ok()) add_region(to, region);
  }
}

/// Skips a credential or verifier. Returns its flavour; the first word of its body becomes `word`,
/// the procedure and service of RPCSEC_GSS behind it `service`.
std::uint32_t read_auth(XdrReader& xdr, std::uint32_t& service) noexcept {
  const std::uint32_t flavour = xdr.u32();
  const std::uint32_t length = xdr.u32();
  const Bytes body = xdr.rest();
  // RPCSEC_GSS: version, procedure, sequence number, service.
  constexpr std::size_t kServiceAt = 12;
  service = flavour == kGss ? big<std::uint32_t>(body, kServiceAt).value_or(0) : 0;
  xdr.skip((std::uint64_t{length} + 3) / 4 * 4);
  return flavour;
}

void read_call(XdrReader& xdr, RpcHeader& header) noexcept {
  xdr.u32();  // version of RPC
  const auto next = [&xdr] {
    const std::uint32_t value = xdr.u32();
    return xdr.ok() ? std::optional(value) : std::nullopt;
  };
  header.program = next();
  header.version = next();
  header.procedure = next();
  std::uint32_t service = 0, unused = 0;
  const std::uint32_t flavour = read_auth(xdr, service);
  header.has_privacy = flavour == kGss && service == kGssPrivacy;
  read_auth(xdr, unused);
  if (xdr.ok()) header.body = xdr.position();
}

void read_reply(XdrReader& xdr, RpcHeader& header) noexcept {
  header.denied = xdr.u32() != 0;
  std::uint32_t unused = 0;
  if (!header.denied) read_auth(xdr, unused);
  const std::uint32_t status = xdr.u32();
  if (!xdr.ok()) return;
  header.accept_status = status;
  header.body = xdr.position();
}

}  // namespace

std::optional<TransportHeader> read_transport(Bytes bytes) noexcept {
  XdrReader xdr(bytes);
  TransportHeader header{.xid = xdr.u32()};
  const std::uint32_t version = xdr.u32();
  header.credits = xdr.u32();
  const std::uint32_t kind = xdr.u32();
  if (!xdr.ok() || version != 1 || kind > static_cast<std::uint32_t>(Kind::error))
    return std::nullopt;
  header.kind = static_cast<Kind>(kind);
  if (header.kind == Kind::msgp) xdr.skip(8);  // alignment and threshold
  if (header.kind == Kind::error || header.kind == Kind::done) return header;
  read_read_list(xdr, header);
  for (std::size_t i = 0; i < kMostRegions && xdr.ok() && xdr.u32() != 0; ++i)
    read_array(xdr, header.writes);
  if (xdr.ok() && xdr.u32() != 0) read_array(xdr, header.reply);
  for (DataRegion& region : header.reply) region.holds_message = true;
  header.whole = xdr.ok();
  header.length = xdr.position();
  return header;
}

std::optional<RpcHeader> read_rpc(Bytes bytes) noexcept {
  XdrReader xdr(bytes);
  RpcHeader header{.xid = xdr.u32()};
  const std::uint32_t type = xdr.u32();
  if (!xdr.ok() || type > 1) return std::nullopt;
  header.is_call = type == 0;
  if (header.is_call)
    read_call(xdr, header);
  else
    read_reply(xdr, header);
  return header;
}

}  // namespace lw::upper::rpc
