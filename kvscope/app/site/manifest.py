"""imsmanifest.xml: what a learning system reads of a package (SCORM 1.2, and SCORM 2004 4th Edition)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote
from xml.etree import ElementTree as Xml

Version = Literal["1.2", "2004"]
MANIFEST = "imsmanifest.xml"
SHARED = "shared"
"""Identifier of the resource with the files that the lessons need."""
PACKAGING: Mapping[Version, str] = {
    "1.2": "http://www.imsproject.org/xsd/imscp_rootv1p1p2",
    "2004": "http://www.imsglobal.org/xsd/imscp_v1p1",
}
RUNNING: Mapping[Version, str] = {
    "1.2": "http://www.adlnet.org/xsd/adlcp_rootv1p2",
    "2004": "http://www.adlnet.org/xsd/adlcp_v1p3",
}
"""Namespaces of IMS Content Packaging, and of what SCORM adds to it."""
SEQUENCING = "http://www.imsglobal.org/xsd/imsss"
EDITION: Mapping[Version, str] = {"1.2": "1.2", "2004": "2004 4th Edition"}


@dataclass(frozen=True, slots=True)
class Page:
    """A lesson in a package. `file`: the name of its page."""

    title: str
    file: str


def manifest(version: Version, identifier: str, title: str, lessons: Sequence[Page], shared: Sequence[str]) -> bytes:
    """Returns the manifest. `lessons`: in their order. `shared`: names of all other files."""
    root = Xml.Element("manifest", _identified(identifier), version="1.0")
    # Not qualified names: an unprefixed attribute of the content packaging has no namespace.
    root.set("xmlns", PACKAGING[version])
    root.set("xmlns:adlcp", RUNNING[version])
    if version == "2004":
        root.set("xmlns:imsss", SEQUENCING)
    about = Xml.SubElement(root, "metadata")
    _text(about, "schema", "ADL SCORM")
    _text(about, "schemaversion", EDITION[version])
    organizations = Xml.SubElement(root, "organizations", default="lessons")
    course = Xml.SubElement(organizations, "organization", identifier="lessons")
    _text(course, "title", title)
    resources = Xml.SubElement(root, "resources")
    for number, lesson in enumerate(lessons, 1):
        item = Xml.SubElement(course, "item", identifier=f"item-{number}", identifierref=f"lesson-{number}")
        _text(item, "title", lesson.title)
        if version == "2004":
            # Otherwise a system takes a page that reports no success for passed.
            by_content = {"completionSetByContent": "true", "objectiveSetByContent": "true"}
            Xml.SubElement(Xml.SubElement(item, "imsss:sequencing"), "imsss:deliveryControls", by_content)
        resource = _resource(resources, version, f"lesson-{number}", "sco", [lesson.file])
        resource.set("href", quote(lesson.file))
        Xml.SubElement(resource, "dependency", identifierref=SHARED)
    if version == "2004":
        Xml.SubElement(Xml.SubElement(course, "imsss:sequencing"), "imsss:controlMode", choice="true", flow="true")
    _resource(resources, version, SHARED, "asset", shared)
    Xml.indent(root)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


def _resource(parent: Xml.Element, version: Version, identifier: str, kind: str, files: Sequence[str]) -> Xml.Element:
    named = "adlcp:scormtype" if version == "1.2" else "adlcp:scormType"
    resource = Xml.SubElement(parent, "resource", {"identifier": identifier, "type": "webcontent", named: kind})
    for name in files:
        Xml.SubElement(resource, "file", href=quote(name))
    return resource


def _text(parent: Xml.Element, name: str, text: str) -> None:
    Xml.SubElement(parent, name).text = text


def _identified(identifier: str) -> dict[str, str]:
    """Returns the attribute with the identifier, which may have no other characters."""
    return {"identifier": re.sub(r"[^A-Za-z0-9.-]", "-", identifier)}
