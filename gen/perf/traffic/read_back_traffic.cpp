// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/traffic/read_back_traffic.h"

namespace lw::gen {

using transport::Completion;
using transport::Status;

void ReadBackTraffic::on_completion(Connection& /*connection*/, const Completion& done) {
  if (done.status != Status::success) return note_failure();
  if (done.operation != wire::Operation::read_request) return;
  count(lane().right_read_back(done), since_post() / 2);
}

void ReadBackTraffic::ping() {
  LatencyTraffic::ping();
  lane().post_read_back(nic::now());
}

}  // namespace lw::gen
