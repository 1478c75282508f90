// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/flow_means.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "wire/ethernet.h"

namespace lw::config {
namespace {

/// What one packet takes on the wire.
std::uint64_t wire_bytes(roce::FrameFields& fields, const roce::MessagePacket& packet) {
  fields.bth.opcode = packet.opcode;
  const std::size_t size = roce::layout_of(fields, packet.payload).size;
  return std::max(size, std::size_t{wire::kEthernetMinimum}) + wire::kEthernetOverhead;
}

void add_packet(MessageMeans& costs, roce::FrameFields& fields, const roce::Message& message,
                std::uint32_t index, std::uint32_t times) {
  const auto packet = packet_of(message, index);
  costs.frames += times;
  costs.wire_bytes += static_cast<double>(wire_bytes(fields, packet)) * times;
  costs.payload_bytes += static_cast<double>(packet.payload) * times;
}

/// Adds one message of that length.
void add_message(MessageMeans& costs, const Flow& flow, roce::FrameFields& fields,
                 std::uint64_t length) {
  roce::Message message = flow.message;
  message.length = length;
  const std::uint32_t count = packet_count(message);
  add_packet(costs, fields, message, 0, 1);
  if (count > 1) add_packet(costs, fields, message, count - 1, 1);
  if (count > 2) add_packet(costs, fields, message, 1, count - 2);
}

}  // namespace

MessageMeans means_of(const Flow& flow) {
  roce::FrameFields fields = flow.frame;
  MessageMeans means;
  if (!flow.sizes.vary()) {
    add_message(means, flow, fields, flow.message.length);
    return means;
  }
  const auto sizes = flow.sizes.representatives();
  for (const std::uint64_t size : sizes) add_message(means, flow, fields, size);
  const auto count = static_cast<double>(sizes.size());
  return {means.frames / count, means.wire_bytes / count, means.payload_bytes / count};
}

double mean_wire_bits(const Flow& flow) {
  if (flow.rate.unit == Rate::Unit::wire_bits) return flow.rate.value;
  const MessageMeans& means = flow.means;
  const double wire_bits = 8 * means.wire_bytes;
  switch (flow.rate.unit) {
    case Rate::Unit::frames:
      return flow.rate.value / means.frames * wire_bits;
    case Rate::Unit::messages:
      return flow.rate.value * wire_bits;
    default:
      return means.payload_bytes > 0 ? flow.rate.value / (8 * means.payload_bytes) * wire_bits : 0;
  }
}

double peak_wire_bits(const Flow& flow) {
  const double mean = mean_wire_bits(flow);
  if (flow.arrival != Arrival::on_off) return mean;
  const auto on = static_cast<double>(flow.on.count());
  return mean * (on + static_cast<double>(flow.off.count())) / on;
}

LinkDemand link_demand(const std::vector<Flow>& flows, std::size_t first, std::size_t step) {
  LinkDemand demand;
  for (std::size_t i = first; i < flows.size();) {
    const Flow& flow = flows[i];
    double sum = 0;  // of its [[flow]]
    for (; i < flows.size() && flows[i].name == flow.name; i += step) {
      sum += peak_wire_bits(flows[i]);
    }
    demand.parts +=
        fmt::format("{}{} {}", demand.parts.empty() ? "" : " + ", flow.name, format_bit_rate(sum));
    demand.wire_bits += sum;
  }
  return demand;
}

bool exceeds(const LinkDemand& demand, double link_bps) {
  constexpr double kRounding = 1e-9;
  return demand.wire_bits > link_bps * (1 + kRounding);
}

}  // namespace lw::config
