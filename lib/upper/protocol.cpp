// SPDX-License-Identifier: BSD-3-Clause
#include "upper/protocol.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "upper/nvme/nvme.h"
#include "upper/rpc/nfs.h"
#include "upper/smb/smb_direct.h"

namespace lw::upper {
namespace {

// Ports: IANA's register of service names. 5445 is SMB Direct's own port.
constexpr ProtocolInfo kProtocols[] = {
    {UpperProtocol::unknown, "unknown", "unknown"},
    {UpperProtocol::nvme, "nvme", "NVMe over RDMA", 4420, true},
    {UpperProtocol::nfs, "nfs", "RPC over RDMA (NFS)", 20049, true},
    {UpperProtocol::smb, "smb", "SMB Direct", 445, true},
    {UpperProtocol::iser, "iser", "iSER", 3260},
    {UpperProtocol::srp, "srp", "SRP"},
    {UpperProtocol::p9, "9p", "9P", 5640}};

bool is_nvme(const UpperMessage& message) noexcept {
  const auto capsule = nvme::read_capsule(message.data, message.bytes);
  return capsule && (capsule->keyed || capsule->length <= message.bytes);
}

bool is_rpc(const UpperMessage& message) noexcept {
  const auto header = rpc::read_transport(message.data);
  if (!header || header->credits == 0 || header->kind == rpc::Kind::done) return false;
  if (header->kind == rpc::Kind::error) return message.bytes == 20 || message.bytes == 28;
  if (header->kind == rpc::Kind::nomsg) return header->whole && !header->reads.empty();
  if (!header->whole) return false;
  const auto xid = big<std::uint32_t>(message.data, header->length);
  const auto type = big<std::uint32_t>(message.data, header->length + 4);
  return xid == header->xid && type && *type <= 1;
}

bool is_smb(const UpperMessage& message) noexcept {
  if (smb::read_negotiate_request(message.data, message.bytes)) return true;
  const auto data = smb::read_data(message.data, message.bytes);
  return data && smb::magic_of(data->data) != smb::Magic::none;
}

/// An iSER header is 28 bytes before an iSCSI PDU of 48: 0x10 with the flags of the two keys, or a
/// Hello. (RFC 7145, 9.2)
bool is_iser(const UpperMessage& message) noexcept {
  constexpr std::uint64_t kHeaders = 28 + 48;
  const auto first = little<std::uint8_t>(message.data, 0);
  const auto opcode = little<std::uint8_t>(message.data, 28);
  const bool zeros = little<std::uint16_t>(message.data, 1) == 0;
  return message.bytes >= kHeaders && first && (*first & 0xf3) == 0x10 && zeros && opcode &&
         (*opcode & 0x3f) <= 0x3f;
}

/// SRP_CMD: an information unit of at least 48 bytes with a tag, a LUN and a CDB. (INCITS 365, 6.8)
bool is_srp(const UpperMessage& message) noexcept {
  constexpr std::uint8_t kCommand = 0x02;
  const auto first = little<std::uint8_t>(message.data, 0);
  const auto formats = little<std::uint8_t>(message.data, 5);
  const bool zeros = little<std::uint32_t>(message.data, 1) == 0;
  return message.bytes >= 48 && first == kCommand && zeros && formats && (*formats & 0xcc) == 0;
}

/// Tversion: its size, type 100, tag 0xffff. (9P2000)
bool is_9p(const UpperMessage& message) noexcept {
  constexpr std::uint8_t kVersion = 100;
  return little<std::uint32_t>(message.data, 0) == message.bytes &&
         little<std::uint8_t>(message.data, 4) == kVersion &&
         little<std::uint16_t>(message.data, 5) == 0xffff;
}

std::string_view words_of(UpperProtocol protocol, std::uint8_t kind,
                          std::uint32_t status) noexcept {
  switch (protocol) {
    case UpperProtocol::nvme:
      return nvme::status_words(static_cast<std::uint16_t>(status));
    case UpperProtocol::nfs:
      return rpc::status_words(static_cast<rpc::StatusKind>(kind), status);
    case UpperProtocol::smb:
      return smb::status_words(status);
    default:
      return {};
  }
}

}  // namespace

std::span<const ProtocolInfo> protocols() noexcept { return kProtocols; }
const ProtocolInfo& info_of(UpperProtocol protocol) noexcept {
  return kProtocols[static_cast<std::size_t>(protocol)];
}
std::string_view name_of(UpperProtocol protocol) noexcept { return info_of(protocol).name; }

std::optional<UpperProtocol> find_protocol(std::string_view name) noexcept {
  const auto* const row = std::ranges::find(kProtocols, name, &ProtocolInfo::name);
  if (row == std::end(kProtocols) || row->protocol == UpperProtocol::unknown) return std::nullopt;
  return row->protocol;
}

std::optional<std::uint16_t> ip_port_of(std::uint64_t service_id) noexcept {
  constexpr std::uint64_t kIpService = 0x0000000001;  // its upper five bytes
  if (service_id >> 24 != kIpService) return std::nullopt;
  return static_cast<std::uint16_t>(service_id);
}

UpperProtocol protocol_of_service(std::uint64_t service_id) noexcept {
  constexpr std::uint16_t kSmbDirect = 5445;
  const auto port = ip_port_of(service_id);
  if (!port || *port == 0) return UpperProtocol::unknown;
  if (*port == kSmbDirect) return UpperProtocol::smb;
  const auto* const row = std::ranges::find(kProtocols, *port, &ProtocolInfo::port);
  return row == std::end(kProtocols) ? UpperProtocol::unknown : row->protocol;
}

UpperProtocol recognise(const UpperMessage& message) noexcept {
  if (message.operation != wire::Operation::send) return UpperProtocol::unknown;
  if (is_rpc(message)) return UpperProtocol::nfs;
  if (is_smb(message)) return UpperProtocol::smb;
  if (is_9p(message)) return UpperProtocol::p9;
  if (is_nvme(message)) return UpperProtocol::nvme;
  if (is_srp(message)) return UpperProtocol::srp;
  if (is_iser(message)) return UpperProtocol::iser;
  return UpperProtocol::unknown;
}

std::string_view name_of(RecognisedBy by) noexcept {
  switch (by) {
    case RecognisedBy::service:
      return "service";
    case RecognisedBy::content:
      return "content";
    case RecognisedBy::option:
      return "option";
    case RecognisedBy::nothing:
      break;
  }
  return "nothing";
}

std::string status_name(UpperProtocol protocol, std::uint8_t kind, std::uint32_t status) {
  const std::string_view words = words_of(protocol, kind, status);
  return words.empty() ? fmt::format("status {:#x}", status) : std::string(words);
}

}  // namespace lw::upper
