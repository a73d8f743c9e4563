"""HTML as text, as Markdown, and as a list of links."""

import html.parser
import re

__version__ = "1.0.0"
__tool_type__ = "library"
__executor_id__ = None
__category__ = "rye/web"
__tool_description__ = "Turn HTML into text or Markdown, and find links in it"

HIDDEN = {"script", "style", "noscript", "template", "svg", "head", "iframe"}
BLOCKS = {"p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol",
          "table", "tr", "blockquote", "pre", "figure", "form", "dl", "dt", "dd", "h1", "h2", "h3",
          "h4", "h5", "h6", "li", "hr", "br"}
VOID = {"br", "hr", "img", "input", "link", "meta", "area", "base", "col", "embed", "source", "wbr"}
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*"}


class Markup(html.parser.HTMLParser):
    """Reads whatever comes: HTMLParser itself raises at sections of SGML that it does not know."""

    def __init__(self):
        super().__init__(convert_charrefs=True)

    def parse_marked_section(self, i, report=1):
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:
            return self.parse_bogus_comment(i)


class Reader(Markup):
    """Writes what a person would read; with marks it is Markdown."""

    def __init__(self, marks):
        super().__init__()
        self.marks = marks
        self.parts = []
        self.hidden = []  # open elements whose text is not shown
        self.title = ""
        self.in_title = self.in_pre = False
        self.links = []

    def put(self, text):
        self.parts.append(text)

    def end_line(self):
        if self.parts and not self.parts[-1].endswith("\n"):
            self.put("\n")

    def handle_starttag(self, tag, attributes):
        self.in_title = tag == "title"
        if self.hidden or tag in HIDDEN:
            if tag not in VOID:
                self.hidden.append(tag)
            return
        if tag in BLOCKS:
            self.end_line()
        self.in_pre |= tag == "pre"
        if not self.marks:
            return
        if re.fullmatch("h[1-6]", tag):
            self.put("\n" + "#" * int(tag[1]) + " ")
        elif tag == "li":
            self.put("- ")
        elif tag == "pre":
            self.put("```\n")
        elif tag == "code" and not self.in_pre:
            self.put("`")
        elif tag == "a":
            self.links.append((len(self.parts), dict(attributes).get("href") or ""))
        elif tag in MARKS:
            self.put(MARKS[tag])

    def handle_endtag(self, tag):
        if tag == "title":
            self.in_title = False
        if self.hidden:
            if tag in self.hidden:
                while self.hidden.pop() != tag:
                    pass
            return
        if tag == "pre":
            self.in_pre = False
            self.end_line()
            self.put("```\n" if self.marks else "")
        elif self.marks and tag == "code" and not self.in_pre:
            self.put("`")
        elif self.marks and tag == "a" and self.links:
            self.end_link(*self.links.pop())
        elif self.marks and tag in MARKS:
            self.put(MARKS[tag])
        if tag in BLOCKS:
            self.end_line()
            if tag != "li":
                self.put("\n")

    def end_link(self, start, target):
        words = " ".join("".join(self.parts[start:]).split())
        del self.parts[start:]
        shown = re.match(r"(?i)https?://|/|#|mailto:", target)
        self.put("[%s](%s)" % (words, target) if words and shown else words)

    def handle_data(self, data):
        if self.in_title:
            self.title += data
        if self.hidden:
            return
        if not self.in_pre:
            data = re.sub(r"\s+", " ", data)
            if not self.parts or self.parts[-1].endswith("\n"):
                data = data.lstrip()
        if data:
            self.put(data)

    def text(self):
        lines = [line.rstrip() for line in "".join(self.parts).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def read(text, form):
    """(title, text) of HTML; form is "text" or "markdown"."""
    reader = Reader(form == "markdown")
    reader.feed(text)
    reader.close()
    return " ".join(reader.title.split()), reader.text()


class Links(Markup):
    """The elements of two classes in their order: links with their words, and snippets."""

    def __init__(self, link, snippet):
        super().__init__()
        self.wanted = {link: "title", snippet: "snippet"}
        self.found = []
        self.key, self.depth = None, 0

    def handle_starttag(self, tag, attributes):
        if self.key:
            self.depth += tag not in VOID
            return
        given = dict(attributes)
        for name in (given.get("class") or "").split():
            self.key = self.wanted.get(name, self.key)
        if not self.key:
            return
        self.depth = 1
        if self.key == "title":
            self.found.append({"title": "", "url": given.get("href") or "", "snippet": ""})

    def handle_endtag(self, tag):
        if self.key and tag not in VOID:
            self.depth -= 1
            if not self.depth:
                self.key = None

    def handle_data(self, data):
        if self.key and self.found:
            self.found[-1][self.key] += data


def links(text, link, snippet):
    """[{title, url, snippet}] of a page of results."""
    reader = Links(link, snippet)
    reader.feed(text)
    reader.close()
    return [{key: " ".join(value.split()) for key, value in row.items()} for row in reader.found]
