// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "upper/message.h"

namespace lw::upper {

/// A protocol above RC.
enum class UpperProtocol : std::uint8_t {
  unknown,
  nvme,  // NVMe over RDMA
  nfs,   // ONC RPC over RDMA, version 1: NFS, and other programs
  smb,   // SMB2 and SMB3 over SMB Direct
  iser,  // iSCSI extensions for RDMA: named, not read
  srp,   // SCSI RDMA protocol: named, not read
  p9,    // 9P: named, not read
};

/// A row of the table of protocols.
struct ProtocolInfo {
  UpperProtocol protocol{};
  std::string_view name;       // of --upper: "nvme"
  std::string_view full_name;  // "NVMe over RDMA"
  std::uint16_t port = 0;      // of its CM service; 0: it has none
  bool is_read = false;        // its commands are read
};
std::span<const ProtocolInfo> protocols() noexcept;
const ProtocolInfo& info_of(UpperProtocol protocol) noexcept;
std::string_view name_of(UpperProtocol protocol) noexcept;
/// The protocol of a name of --upper; nothing: there is none.
std::optional<UpperProtocol> find_protocol(std::string_view name) noexcept;

/// The port of a CM service ID in the range of IP services, which RDMA CM uses; nothing: it is
/// another service. (IBTA vol. 1, annex A11)
std::optional<std::uint16_t> ip_port_of(std::uint64_t service_id) noexcept;
/// The protocol of a CM service ID; unknown: the table has none.
UpperProtocol protocol_of_service(std::uint64_t service_id) noexcept;

/// The protocol whose first messages begin as this SEND; unknown: it may be any.
UpperProtocol recognise(const UpperMessage& message) noexcept;

/// How the protocol of a connection was found.
enum class RecognisedBy : std::uint8_t { nothing, service, content, option };
std::string_view name_of(RecognisedBy by) noexcept;

/// The standard name of a command's status: "SC Invalid Field in Command", "NFS3ERR_IO",
/// "STATUS_ACCESS_DENIED"; otherwise its number. `kind` as in StorageCommand.
std::string status_name(UpperProtocol protocol, std::uint8_t kind, std::uint32_t status);

}  // namespace lw::upper
