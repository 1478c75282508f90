// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "report/html_page.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::report {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table({{"name"}, {"frames", Align::right}, {"note"}});
  table.add_row({"RC SEND ONLY", "7", ""});
  table.add_row({"CNP", "1234567", "x"});
  EXPECT_EQ(table.to_string(2),
            "  name           frames  note\n"
            "  RC SEND ONLY        7\n"
            "  CNP           1234567  x\n");
}

TEST(Table, WithoutTitlesThereIsNoHeader) {
  TextTable table({{""}, {"", Align::right}});
  EXPECT_EQ(table.to_string(), "");
  table.add_row({"µs", "1"});
  table.add_row({"abc", "22"});
  EXPECT_EQ(table.to_string(), "µs    1\nabc  22\n");
}

TEST(JsonLine, KeepsOrderAndReplacesWhatIsNoUtf8) {
  Json value;
  value["z"] = 1;
  value["a"] = "\xff\"";
  EXPECT_EQ(json_line(value), "{\"z\":1,\"a\":\"\xef\xbf\xbd\\\"\"}\n");
  EXPECT_EQ(json_string("a\nb"), "\"a\\nb\"");
}

TEST(HtmlPage, DataCannotEndItsElement) {
  const HtmlPage page{"<script>", "</script>"};
  const Json data{{"</script><img src=x>", "<!--\xff"}};
  const std::string text = html_text(page, data);
  EXPECT_EQ(text,
            "<script>{\"\\u003c/script>\\u003cimg src=x>\":\"\\u003c!--\xef\xbf\xbd\"}\n</script>");
  const std::string json = text.substr(8, text.size() - 8 - 9);
  EXPECT_EQ(Json::parse(json).begin().key(), "</script><img src=x>");
}

}  // namespace
}  // namespace lw::report
