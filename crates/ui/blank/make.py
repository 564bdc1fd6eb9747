#!/usr/bin/env python3
"""Writes the blank documents beside it: as small as the formats allow, with the same bytes every time.

Text documents and workbooks have the parts that ECMA-376 and OpenDocument 1.3 require; presentations also a master, a
layout and a theme, without which PowerPoint repairs them. Run it after a change of the texts below.
"""
import pathlib
import zipfile

HERE = pathlib.Path(__file__).parent
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
FORMAT = "application/vnd.openxmlformats-officedocument"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def write(name, parts):
    with zipfile.ZipFile(HERE / name, "w") as archive:
        for path, text in parts:
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            # OpenDocument wants its first entry as it is.
            entry.compress_type = zipfile.ZIP_STORED if path == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)


def types(parts):
    overrides = "".join(f'<Override PartName="/{path}" ContentType="{FORMAT}.{kind}+xml"/>' for path, kind in parts)
    return ("[Content_Types].xml", f'{HEAD}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
            f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
            f'ContentType="application/xml"/>{overrides}</Types>')


def relations(path, targets):
    all_targets = "".join(f'<Relationship Id="rId{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
                          for number, (kind, target) in enumerate(targets, 1))
    return (path, f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{all_targets}</Relationships>')


def heading(number, size):
    return (f'<w:style w:type="paragraph" w:styleId="Heading{number}"><w:name w:val="heading {number}"/>'
            f'<w:basedOn w:val="Normal"/><w:next w:val="Normal"/><w:uiPriority w:val="9"/><w:qFormat/><w:pPr><w:keepNext/>'
            f'<w:spacing w:before="240" w:after="80"/><w:outlineLvl w:val="{number - 1}"/></w:pPr>'
            f'<w:rPr><w:b/><w:sz w:val="{size}"/></w:rPr></w:style>')


write("document.docx", [
    types([("word/document.xml", "wordprocessingml.document.main"), ("word/styles.xml", "wordprocessingml.styles")]),
    relations("_rels/.rels", [("officeDocument", "word/document.xml")]),
    relations("word/_rels/document.xml.rels", [("styles", "styles.xml")]),
    ("word/document.xml", f'{HEAD}<w:document xmlns:w="{WORD}"><w:body><w:p/><w:sectPr><w:pgSz w:w="11906" w:h="16838"/>'
     '<w:pgMar w:top="1417" w:right="1417" w:bottom="1134" w:left="1417" w:header="708" w:footer="708" w:gutter="0"/>'
     '</w:sectPr></w:body></w:document>'),
    ("word/styles.xml", f'{HEAD}<w:styles xmlns:w="{WORD}"><w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" '
     'w:hAnsi="Calibri" w:cs="Calibri"/><w:sz w:val="22"/></w:rPr></w:rPrDefault><w:pPrDefault><w:pPr><w:spacing '
     'w:after="120" w:line="264" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults><w:style w:type="paragraph" '
     'w:default="1" w:styleId="Normal"><w:name w:val="Normal"/><w:qFormat/></w:style>'
     + heading(1, 32) + heading(2, 28) + heading(3, 24) + '</w:styles>'),
])

write("workbook.xlsx", [
    types([("xl/workbook.xml", "spreadsheetml.sheet.main"), ("xl/worksheets/sheet1.xml", "spreadsheetml.worksheet"),
           ("xl/styles.xml", "spreadsheetml.styles")]),
    relations("_rels/.rels", [("officeDocument", "xl/workbook.xml")]),
    relations("xl/_rels/workbook.xml.rels", [("worksheet", "worksheets/sheet1.xml"), ("styles", "styles.xml")]),
    ("xl/workbook.xml", f'{HEAD}<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}"><sheets><sheet name="1" sheetId="1" '
     'r:id="rId1"/></sheets></workbook>'),
    ("xl/worksheets/sheet1.xml", f'{HEAD}<worksheet xmlns="{SHEET}"><sheetData/></worksheet>'),
    ("xl/styles.xml", f'{HEAD}<styleSheet xmlns="{SHEET}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font>'
     '</fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/>'
     '</fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="1">'
     '<xf xfId="0"/></cellXfs></styleSheet>'),
])

TREE = ('<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr><a:xfrm><a:off x="0" y="0"/>'
        '<a:ext cx="0" cy="0"/><a:chOff x="0" y="0"/><a:chExt cx="0" cy="0"/></a:xfrm></p:grpSpPr>')


def box(number, name, kind, place):
    where = f'<p:spPr><a:xfrm><a:off x="{place[0]}" y="{place[1]}"/><a:ext cx="{place[2]}" cy="{place[3]}"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>' if place else '<p:spPr/>'
    return (f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{name}"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr>'
            f'<p:ph type="{kind}"{"" if kind != "body" else " idx=" + chr(34) + "1" + chr(34)}/></p:nvPr></p:nvSpPr>{where}'
            '<p:txBody><a:bodyPr/><a:lstStyle/><a:p><a:endParaRPr lang="en-US"/></a:p></p:txBody></p:sp>')


def slide(element, content, rest):
    return (f'{HEAD}<p:{element} xmlns:a="{DRAWING}" xmlns:r="{OFFICE}" xmlns:p="{SLIDE}"><p:cSld><p:spTree>{TREE}{content}'
            f'</p:spTree></p:cSld>{rest}</p:{element}>')


def colour(name, value):
    return f'<a:{name}><a:srgbClr val="{value}"/></a:{name}>'


COLOURS = "".join(colour(*pair) for pair in [
    ("dk1", "000000"), ("lt1", "FFFFFF"), ("dk2", "1F2A30"), ("lt2", "E8ECEA"), ("accent1", "0B6B60"), ("accent2", "B25E1C"),
    ("accent3", "5A6B75"), ("accent4", "C29A1B"), ("accent5", "3D6FB4"), ("accent6", "5E8C3A"), ("hlink", "0B6B60"),
    ("folHlink", "5B4B8A")])
FONT = '<a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/>'
FILL = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
THEME = (f'{HEAD}<a:theme xmlns:a="{DRAWING}" name="Plain"><a:themeElements><a:clrScheme name="Plain">{COLOURS}</a:clrScheme>'
         f'<a:fontScheme name="Plain"><a:majorFont>{FONT}</a:majorFont><a:minorFont>{FONT}</a:minorFont></a:fontScheme>'
         f'<a:fmtScheme name="Plain"><a:fillStyleLst>{FILL * 3}</a:fillStyleLst><a:lnStyleLst>'
         + f'<a:ln w="9525">{FILL}</a:ln>' * 3 + '</a:lnStyleLst><a:effectStyleLst>'
         + '<a:effectStyle><a:effectLst/></a:effectStyle>' * 3
         + f'</a:effectStyleLst><a:bgFillStyleLst>{FILL * 3}</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>')
TITLE = (1524000, 1122363, 9144000, 2387600)
BELOW = (1524000, 3602038, 9144000, 1655762)
MAP = ('<p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" '
       'accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/>')
TEXTS = ('<p:txStyles><p:titleStyle><a:lvl1pPr algn="l"><a:defRPr sz="4400"><a:solidFill><a:schemeClr val="tx1"/>'
         '</a:solidFill></a:defRPr></a:lvl1pPr></p:titleStyle><p:bodyStyle><a:lvl1pPr><a:defRPr sz="2800"><a:solidFill>'
         '<a:schemeClr val="tx1"/></a:solidFill></a:defRPr></a:lvl1pPr></p:bodyStyle><p:otherStyle/></p:txStyles>')

write("presentation.pptx", [
    types([("ppt/presentation.xml", "presentationml.presentation.main"),
           ("ppt/slideMasters/slideMaster1.xml", "presentationml.slideMaster"),
           ("ppt/slideLayouts/slideLayout1.xml", "presentationml.slideLayout"),
           ("ppt/slides/slide1.xml", "presentationml.slide"), ("ppt/theme/theme1.xml", "theme")]),
    relations("_rels/.rels", [("officeDocument", "ppt/presentation.xml")]),
    ("ppt/presentation.xml", f'{HEAD}<p:presentation xmlns:a="{DRAWING}" xmlns:r="{OFFICE}" xmlns:p="{SLIDE}">'
     '<p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/></p:sldMasterIdLst><p:sldIdLst><p:sldId id="256" '
     'r:id="rId2"/></p:sldIdLst><p:sldSz cx="12192000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/>'
     '</p:presentation>'),
    relations("ppt/_rels/presentation.xml.rels", [("slideMaster", "slideMasters/slideMaster1.xml"),
                                                  ("slide", "slides/slide1.xml"), ("theme", "theme/theme1.xml")]),
    ("ppt/slideMasters/slideMaster1.xml", slide("sldMaster", box(2, "Title", "title", TITLE) + box(3, "Text", "body", BELOW),
     f'{MAP}<p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="rId1"/></p:sldLayoutIdLst>{TEXTS}')),
    relations("ppt/slideMasters/_rels/slideMaster1.xml.rels", [("slideLayout", "../slideLayouts/slideLayout1.xml"),
                                                               ("theme", "../theme/theme1.xml")]),
    ("ppt/slideLayouts/slideLayout1.xml", slide("sldLayout", box(2, "Title", "title", TITLE) + box(3, "Text", "body", BELOW),
     '<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>')),
    relations("ppt/slideLayouts/_rels/slideLayout1.xml.rels", [("slideMaster", "../slideMasters/slideMaster1.xml")]),
    ("ppt/slides/slide1.xml", slide("sld", box(2, "Title", "title", None) + box(3, "Text", "body", None),
     '<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>')),
    relations("ppt/slides/_rels/slide1.xml.rels", [("slideLayout", "../slideLayouts/slideLayout1.xml")]),
    ("ppt/theme/theme1.xml", THEME),
])

OPEN = "urn:oasis:names:tc:opendocument:xmlns"


def open_document(name, kind, body):
    media = f"application/vnd.oasis.opendocument.{kind}"
    spaces = " ".join(f'xmlns:{short}="{OPEN}:{long}:1.0"' for short, long in [
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style"),
        ("presentation", "presentation"), ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible")])
    element = {"text": "text", "spreadsheet": "spreadsheet", "presentation": "presentation"}[kind]
    entries = "".join(f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="{of}"/>' for path, of in [
        ("/", media), ("content.xml", "text/xml"), ("styles.xml", "text/xml")])
    layout = ('<style:page-layout style:name="L"><style:page-layout-properties fo:page-width="28cm" fo:page-height="15.75cm" '
              'style:print-orientation="landscape"/></style:page-layout>' if kind == "presentation" else
              '<style:page-layout style:name="L"><style:page-layout-properties fo:page-width="21cm" fo:page-height="29.7cm" '
              'fo:margin="2cm"/></style:page-layout>')
    write(name, [
        ("mimetype", media),
        ("content.xml", f'{HEAD}<office:document-content {spaces} office:version="1.3"><office:body><office:{element}>{body}'
         f'</office:{element}></office:body></office:document-content>'),
        ("styles.xml", f'{HEAD}<office:document-styles {spaces} office:version="1.3"><office:automatic-styles>{layout}'
         '</office:automatic-styles><office:master-styles><style:master-page style:name="Default" '
         'style:page-layout-name="L"/></office:master-styles></office:document-styles>'),
        ("META-INF/manifest.xml", f'{HEAD}<manifest:manifest xmlns:manifest="{OPEN}:manifest:1.0" manifest:version="1.3">'
         f'{entries}</manifest:manifest>'),
    ])


open_document("document.odt", "text", '<text:p/>')
open_document("workbook.ods", "spreadsheet",
              '<table:table table:name="1"><table:table-column/><table:table-row><table:table-cell/></table:table-row>'
              '</table:table>')
open_document("presentation.odp", "presentation", '<draw:page draw:name="1" draw:master-page-name="Default"/>')
