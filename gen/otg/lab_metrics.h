// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gen/otg/lab_parts.h"
#include "gen/otg/metrics.h"
#include "gen/otg/requests.h"

namespace lw::gen::otg {

/// The answers about what a configuration does: rows of metrics, and of neighbours.
class LabMetrics {
 public:
  /// `parts` outlives it.
  explicit LabMetrics(const LabParts& parts) : parts_(parts) {}

  /// A Metrics.Response of the model. Unknown names are added to `reader`'s problems.
  [[nodiscard]] nlohmann::ordered_json metrics(const MetricsRequest& asked,
                                               ModelReader& reader) const;
  /// A States.Response of the model.
  [[nodiscard]] nlohmann::ordered_json neighbours(const StatesRequest& asked) const;

 private:
  [[nodiscard]] PortMetric port_metric(std::size_t port) const;
  [[nodiscard]] FlowMetric packet_metric(const PacketFlow& flow) const;
  [[nodiscard]] PeerMetric peer_metric(std::size_t peer) const;
  [[nodiscard]] QpMetric flow_metric(const QpRun& run) const;
  [[nodiscard]] QpMetric arrival_metric(const QpRun& run) const;
  void add_other_end(const QpRun& run, const QpRun& partner, QpMetric& row) const;
  [[nodiscard]] std::vector<QpMetric> qp_metrics() const;
  [[nodiscard]] bool transmits(std::size_t port) const;

  const LabParts& parts_;
};

}  // namespace lw::gen::otg
