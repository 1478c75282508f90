// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gen/otg/host.h"
#include "gen/otg/lab_parts.h"
#include "gen/otg/plan.h"
#include "gen/otg/port_hub.h"
#include "gen/otg/qp_run.h"
#include "gen/otg/requests.h"
#include "gen/tx/ports.h"
#include "nic/idle.h"

namespace lw::gen::otg {

/// A configuration that runs: its ports, hosts and QPs. One thread calls poll() again and again,
/// and all else between two calls. One object per process, as of Ports.
class Lab {
 public:
  /// Opens the ports, and starts the protocols if the plan says so. `folder`: for captures. Links
  /// that are down after 2 s are warnings. Errors: those of the ports; a port without a line rate
  /// of which flows have a share; an interface whose MTU is too small.
  static Result<std::unique_ptr<Lab>> open(LabPlan plan, std::string folder,
                                           const std::atomic<bool>& stop);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  /// One round: receives, sends, and rests where there was nothing to do. Errors: those of a port.
  Result<void> poll();

  // Requests. Unknown names are added to `reader`'s problems; then nothing is done.
  void set_links(const PortLinkState& asked, ModelReader& reader);
  void set_captures(const PortCaptureState& asked, ModelReader& reader);
  /// Empty names: all peers.
  void set_peers(const std::vector<std::string>& names, bool up, ModelReader& reader);
  void set_traffic(const FlowTransmit& asked, ModelReader& reader);
  /// Adds flows of packets, which are stopped, and removes others by their names.
  void append(const std::vector<FlowMessage>& flows, ModelReader& reader);
  void remove(const std::vector<std::string>& names, ModelReader& reader);
  /// What runs, for LabMetrics; it lives as long as the lab.
  [[nodiscard]] const LabParts& parts() const noexcept { return parts_; }
  /// The file of a capture that has ended; empty: adds a problem.
  [[nodiscard]] std::string capture_of(const CaptureRequest& asked, ModelReader& reader) const;

  /// Flows that are started and send nothing, with the reason: the QP is not connected, or failed;
  /// the port has no link; the next hop has not answered.
  [[nodiscard]] std::vector<std::string> silent_flows() const;
  /// No flow that is stopped has a message outstanding.
  [[nodiscard]] bool drained() const noexcept;
  /// No QP is still to be disconnected.
  [[nodiscard]] bool settled() const noexcept;

  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  Lab(LabPlan plan, std::string folder, Ports ports);
  Result<void> check_rates() const;
  [[nodiscard]] Result<void> check_rate(const PlannedPackets& flow) const;
  [[nodiscard]] Result<void> check_size(const PlannedPackets& flow) const;
  Result<void> check_mtus() const;
  void wait_for_links(const std::atomic<bool>& stop);
  void build();
  void add_packets(std::vector<PlannedPackets> flows);
  void set_qp_flow(std::size_t flow, const std::string& asked, std::vector<std::size_t>& cleared);
  static void set_packets(PacketFlow& flow, const std::string& asked, Instant now);
  void sample(Instant now);
  void sample_port(std::size_t port, double seconds);
  void note_link(std::size_t port);
  void rest(Instant now);
  [[nodiscard]] std::string why_silent(const PacketFlow& flow) const;

  [[nodiscard]] std::string capture_path(std::size_t port) const;

  LabParts parts_;
  std::string folder_;
  std::size_t frame_size_;  // of the ports' buffers
  std::vector<std::string> warnings_;
  Instant sampled_{};
  nic::Idle idle_{IdleMode::adaptive};
};

}  // namespace lw::gen::otg
