// SPDX-License-Identifier: BSD-3-Clause
#include "roce/cm_learner.h"

#include <algorithm>

#include "wire/cm.h"
#include "wire/deth.h"
#include "wire/mad.h"

namespace lw::roce {

std::optional<CmSighting> cm_sighting(const Envelope& envelope, const wire::Bth& bth) noexcept {
  const std::size_t at = envelope.bth_offset() + sizeof(wire::Bth) + sizeof(wire::Deth);
  const auto* mad = wire::view_at<wire::Mad>(envelope.bytes, at);
  if (!mad) return std::nullopt;
  CmSighting sighting{.key = qp_key(envelope, bth.dest_qp.get())};
  const auto message = static_cast<wire::CmMessage>(mad->attribute_id.get());
  if (message == wire::CmMessage::req) {
    const auto* req = wire::view_at<wire::CmReq>(envelope.bytes, at + sizeof(wire::Mad));
    if (!req) return std::nullopt;
    sighting.comm_id = req->local_comm_id.get();
    sighting.qpn = req->local_qpn.get();
    sighting.psn = req->first_psn().value();
    return sighting;
  }
  if (message != wire::CmMessage::rep) return std::nullopt;
  const auto* rep = wire::view_at<wire::CmRep>(envelope.bytes, at + sizeof(wire::Mad));
  if (!rep) return std::nullopt;
  sighting.reply = true;
  sighting.comm_id = rep->remote_comm_id.get();
  sighting.qpn = rep->local_qpn.get();
  sighting.psn = rep->first_psn().value();
  return sighting;
}

std::optional<CmConnection> CmLearner::hear(const CmSighting& sighting) noexcept {
  const QpKey asked =
      sighting.reply ? reversed(sighting.key, wire::kGeneralServicesQp) : sighting.key;
  const auto known = std::ranges::find_if(requests_, [&](const auto& request) {
    return request && request->comm_id == sighting.comm_id && request->key == asked;
  });
  if (!sighting.reply) {
    // A repeated request replaces the first.
    auto& slot = known != requests_.end() ? *known : requests_[next_++ % requests_.size()];
    slot = sighting;
    return std::nullopt;
  }
  if (known == requests_.end()) return std::nullopt;
  const CmSighting request = **known;
  known->reset();
  const QpKey to_requester = reversed(request.key, request.qpn);
  return CmConnection{.to_replier = reversed(to_requester, sighting.qpn),
                      .to_requester = to_requester,
                      .replier_psn = sighting.psn,
                      .requester_psn = request.psn};
}

}  // namespace lw::roce
