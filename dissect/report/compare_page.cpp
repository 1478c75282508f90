// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/report/compare_page.h"

#include "app/command_line.h"
#include "report/html_page.h"

namespace lw::dissect {

/// Made of dissect/report/compare.html by lib/report/html/embed.py.
extern const report::HtmlPage kComparePage;

std::string compare_page(const ComparePage& page) {
  const report::Json comparison = report::Json::parse(page.line);
  report::Json data;
  data["schema"] = "longwire.compare_page";
  data["version"] = 1;
  data["program"] = "roce-dissect " + std::string(app::program_version());
  data["files"] = page.files;
  data["begin"] = page.begin;
  data["verdict"] = comparison["verdict"];
  data["directions"] = comparison["directions"];
  for (report::Json& direction : data["directions"])  // the text and the pictures have them
    for (const char* const list : {"lost_frames", "changed_frames", "rewritten"})
      direction.erase(list);
  data["path"] = page.pictures;
  data["text"] = page.text;
  return report::html_text(kComparePage, data);
}

}  // namespace lw::dissect
