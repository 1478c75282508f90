// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/cm_req_fields.h"
#include "dissect/fields/fields.h"
#include "wire/cm.h"

namespace lw::dissect {
namespace {

using wire::view;

void append_rep(FieldList& fields, const wire::CmRep& rep) {
  fields.hex("infiniband.cm.rep", rep.local_comm_id.get(), 8);
  fields.hex("infiniband.cm.rep.remotecommid", rep.remote_comm_id.get(), 8);
  fields.hex("infiniband.cm.rep.localqkey", rep.local_q_key.get(), 8);
  fields.hex("infiniband.cm.rep.localqpn", rep.local_qpn.get(), 6);
  fields.hex("infiniband.cm.rep.localeecn", rep.local_ee_context.get(), 6);
  fields.hex("infiniband.cm.rep.startpsn", rep.first_psn().value(), 6);
  fields.hex("infiniband.cm.rep.respres", rep.responder_resources.get(), 2);
  fields.hex("infiniband.cm.rep.initdepth", rep.initiator_depth.get(), 2);
  fields.hex("infiniband.cm.rep.tgtackdelay", rep.ack_delay_failover.get() >> 3, 2);
  fields.hex("infiniband.cm.rep.failoveracc", rep.ack_delay_failover.get() >> 1 & 3, 2);
  fields.hex("infiniband.cm.rep.e2eflowctrl", rep.ack_delay_failover.get() & 1, 2);
  fields.hex("infiniband.cm.rep.rnrretrcount", rep.rnr_srq.get() >> 5, 2);
  fields.hex("infiniband.cm.rep.srq", rep.rnr_srq.get() >> 4 & 1, 2);
  fields.hex("infiniband.cm.rep.localcaguid", rep.local_ca_guid.get(), 16);
}

void append_pair(FieldList& fields, std::string_view local, std::string_view remote,
                 const wire::CmPair& pair) {
  fields.hex(local, pair.local_comm_id.get(), 8);
  fields.hex(remote, pair.remote_comm_id.get(), 8);
}

void append_rej(FieldList& fields, const wire::CmRej& rej) {
  append_pair(fields, "infiniband.cm.rej.localcommid", "infiniband.cm.rej.remotecommid", rej.ids);
  fields.hex("infiniband.cm.rej.msgrej", rej.message_rejected.get() >> 6, 2);
  fields.hex("infiniband.cm.rej.rejinfolen", rej.info_length.get() >> 1, 2);
  fields.hex("infiniband.cm.rej.reason", rej.reason.get(), 4);
}

void append_cm(FieldList& fields, wire::CmMessage message, wire::Bytes body) {
  const auto* pair = view<wire::CmPair>(body);
  if (!pair) return;
  if (message == wire::CmMessage::req) {
    if (const auto* req = view<wire::CmReq>(body)) append_cm_req(fields, *req);
  } else if (message == wire::CmMessage::rep) {
    if (const auto* rep = view<wire::CmRep>(body)) append_rep(fields, *rep);
  } else if (message == wire::CmMessage::rej) {
    if (const auto* rej = view<wire::CmRej>(body)) append_rej(fields, *rej);
  } else if (message == wire::CmMessage::rtu) {
    append_pair(fields, "infiniband.cm.rtu.localcommid", "infiniband.cm.rtu.remotecommid", *pair);
  } else if (message == wire::CmMessage::dreq) {
    append_pair(fields, "infiniband.cm.dreq.localcommid", "infiniband.cm.dreq.remotecommid", *pair);
    if (const auto* dreq = view<wire::CmDreq>(body)) {
      fields.hex("infiniband.cm.req.remoteqpneecn", dreq->remote_qpn.get(), 6);
    }
  } else if (message == wire::CmMessage::drep) {
    append_pair(fields, "infiniband.cm.drsp.localcommid", "infiniband.cm.drsp.remotecommid", *pair);
  }
}

}  // namespace

void append_mad_fields(FieldList& fields, const roce::Frame& frame) {
  if (!frame.mad) return;
  const wire::Mad& mad = *frame.mad;
  fields.hex("infiniband.mad.baseversion", mad.base_version.get(), 2);
  fields.hex("infiniband.mad.mgmtclass", mad.management_class.get(), 2);
  fields.hex("infiniband.mad.classversion", mad.class_version.get(), 2);
  fields.hex("infiniband.mad.method", mad.method.get(), 2);
  fields.hex("infiniband.mad.status", mad.status.get(), 4);
  fields.hex("infiniband.mad.classspecific", mad.class_specific.get(), 4);
  fields.hex("infiniband.mad.transactionid", mad.transaction_id.get(), 16);
  fields.hex("infiniband.mad.attributeid", mad.attribute_id.get(), 4);
  fields.hex("infiniband.mad.attributemodifier", mad.attribute_modifier.get(), 8);
  if (mad.management_class.get() == wire::kMadClassCommunication) {
    append_cm(fields, static_cast<wire::CmMessage>(mad.attribute_id.get()),
              frame.payload.subspan(sizeof(wire::Mad)));
  }
}

}  // namespace lw::dissect
