// SPDX-License-Identifier: BSD-3-Clause
#include "upper/nvme/nvme.h"

#include <algorithm>

namespace lw::upper::nvme {
namespace {

struct Name {
  std::uint16_t code;
  std::string_view name;
};

// NVM Express base specification 2.0, figure 138; NVM command set 1.0, figure 19.
constexpr Name kAdmin[] = {{0x00, "delete I/O submission queue"},
                           {0x01, "create I/O submission queue"},
                           {0x02, "get log page"},
                           {0x04, "delete I/O completion queue"},
                           {0x05, "create I/O completion queue"},
                           {0x06, "identify"},
                           {0x08, "abort"},
                           {0x09, "set features"},
                           {0x0a, "get features"},
                           {0x0c, "asynchronous event request"},
                           {0x0d, "namespace management"},
                           {0x10, "firmware commit"},
                           {0x11, "firmware image download"},
                           {0x14, "device self-test"},
                           {0x15, "namespace attachment"},
                           {0x18, "keep alive"},
                           {0x19, "directive send"},
                           {0x1a, "directive receive"},
                           {0x80, "format NVM"},
                           {0x81, "security send"},
                           {0x82, "security receive"},
                           {0x84, "sanitize"},
                           {0x86, "get LBA status"}};
constexpr Name kIo[] = {{0x00, "flush"},
                        {0x01, "write"},
                        {0x02, "read"},
                        {0x04, "write uncorrectable"},
                        {0x05, "compare"},
                        {0x08, "write zeroes"},
                        {0x09, "dataset management"},
                        {0x0c, "verify"},
                        {0x0d, "reservation register"},
                        {0x0e, "reservation report"},
                        {0x11, "reservation acquire"},
                        {0x15, "reservation release"},
                        {0x19, "copy"},
                        {0x79, "zone management send"},
                        {0x7a, "zone management receive"},
                        {0x7d, "zone append"}};
constexpr Name kFabricsTypes[] = {
    {0x00, "fabrics property set"},           {0x01, "fabrics connect"},
    {0x04, "fabrics property get"},           {0x05, "fabrics authentication send"},
    {0x06, "fabrics authentication receive"}, {0x08, "fabrics disconnect"}};
// Status type << 8 | code. (Base specification 2.0, figures 94 to 98; fabrics: figure 99)
constexpr Name kStatus[] = {{0x001, "Invalid Command Opcode"},
                            {0x002, "Invalid Field in Command"},
                            {0x003, "Command ID Conflict"},
                            {0x004, "Data Transfer Error"},
                            {0x005, "Commands Aborted due to Power Loss Notification"},
                            {0x006, "Internal Error"},
                            {0x007, "Command Abort Requested"},
                            {0x008, "Command Aborted due to SQ Deletion"},
                            {0x00b, "Invalid Namespace or Format"},
                            {0x00c, "Command Sequence Error"},
                            {0x00d, "Invalid SGL Segment Descriptor"},
                            {0x00f, "Data SGL Length Invalid"},
                            {0x011, "SGL Descriptor Type Invalid"},
                            {0x016, "SGL Offset Invalid"},
                            {0x018, "Host Identifier Inconsistent Format"},
                            {0x019, "Keep Alive Timer Expired"},
                            {0x01a, "Keep Alive Timeout Invalid"},
                            {0x01b, "Command Aborted due to Preempt and Abort"},
                            {0x01c, "Sanitize Failed"},
                            {0x01d, "Sanitize In Progress"},
                            {0x020, "Namespace is Write Protected"},
                            {0x021, "Command Interrupted"},
                            {0x022, "Transient Transport Error"},
                            {0x080, "LBA Out of Range"},
                            {0x081, "Capacity Exceeded"},
                            {0x082, "Namespace Not Ready"},
                            {0x083, "Reservation Conflict"},
                            {0x084, "Format In Progress"},
                            {0x103, "Abort Command Limit Exceeded"},
                            {0x105, "Asynchronous Event Request Limit Exceeded"},
                            {0x109, "Invalid Log Page"},
                            {0x10d, "Feature Identifier Not Saveable"},
                            {0x10e, "Feature Not Changeable"},
                            {0x180, "Incompatible Format"},
                            {0x181, "Controller Busy"},
                            {0x182, "Connect Invalid Parameters"},
                            {0x183, "Connect Restart Discovery"},
                            {0x184, "Connect Invalid Host"},
                            {0x190, "Discovery Restart"},
                            {0x191, "Authentication Required"},
                            {0x280, "Write Fault"},
                            {0x281, "Unrecovered Read Error"},
                            {0x282, "End-to-end Guard Check Error"},
                            {0x285, "Compare Failure"},
                            {0x286, "Access Denied"},
                            {0x287, "Deallocated or Unwritten Logical Block"},
                            {0x300, "Internal Path Error"},
                            {0x301, "Asymmetric Access Persistent Loss"},
                            {0x302, "Asymmetric Access Inaccessible"},
                            {0x303, "Asymmetric Access Transition"},
                            {0x360, "Controller Pathing Error"},
                            {0x370, "Host Pathing Error"},
                            {0x371, "Command Aborted By Host"}};

template <std::size_t n>
std::string_view find_name(const Name (&names)[n], std::uint16_t code) noexcept {
  const Name* const name = std::ranges::find(names, code, &Name::code);
  return name == std::end(names) ? std::string_view{} : name->name;
}

}  // namespace

std::optional<Capsule> read_capsule(Bytes bytes, std::uint64_t length) noexcept {
  constexpr std::uint8_t kSglMask = 0xc0, kSgl = 0x40;
  constexpr std::uint8_t kKeyed = 0x4, kInCapsule = 0x0;
  if (length < kCommandBytes || bytes.size() < kCommandBytes) return std::nullopt;
  const auto flags = std::to_integer<std::uint8_t>(bytes[1]);
  const auto type = std::to_integer<std::uint8_t>(bytes[39]) >> 4;
  // Capsules of RDMA have SGLs, never PRPs.
  if ((flags & kSglMask) != kSgl || (type != kKeyed && type != kInCapsule)) return std::nullopt;
  Capsule capsule{.opcode = std::to_integer<std::uint8_t>(bytes[0]),
                  .fabrics_type = std::to_integer<std::uint8_t>(bytes[4]),
                  .id = *little<std::uint16_t>(bytes, 2),
                  .keyed = type == kKeyed,
                  .address = *little<std::uint64_t>(bytes, 24),
                  .length = *little<std::uint32_t>(bytes, 32),
                  .dword10 = *little<std::uint32_t>(bytes, 40),
                  .dword11 = *little<std::uint32_t>(bytes, 44),
                  .dword12 = *little<std::uint32_t>(bytes, 48)};
  if (capsule.keyed) {
    capsule.r_key = *little<std::uint32_t>(bytes, 35);
    capsule.length &= 0xffffff;
  }
  return capsule;
}

std::optional<CompletionEntry> read_completion(Bytes bytes, std::uint64_t length) noexcept {
  if (length != kCompletionBytes || bytes.size() < kCompletionBytes) return std::nullopt;
  return CompletionEntry{
      .sq_head = *little<std::uint16_t>(bytes, 8),
      .queue_id = *little<std::uint16_t>(bytes, 10),
      .id = *little<std::uint16_t>(bytes, 12),
      .status = static_cast<std::uint16_t>(*little<std::uint16_t>(bytes, 14) >> 1)};
}

std::string_view operation_name(const Capsule& capsule, QueueKind queue) noexcept {
  std::string_view name;
  if (capsule.opcode == kFabrics)
    name = find_name(kFabricsTypes, capsule.fabrics_type);
  else if (queue == QueueKind::admin)
    name = find_name(kAdmin, capsule.opcode);
  else
    name = find_name(kIo, capsule.opcode);
  return name.empty() ? "unknown operation" : name;
}

std::string_view status_words(std::uint16_t status) noexcept {
  return find_name(kStatus, status & 0x7ff);
}

}  // namespace lw::upper::nvme
