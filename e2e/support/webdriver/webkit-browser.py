#!/usr/bin/python3
"""A browser of one window on WebKitGTK, for WebKitWebDriver.

    webkit-browser.py FOLDER PRIVATE FEATURES

MiniBrowser under WebDriver is always private; this one has a profile, which lies in FOLDER, unless
PRIVATE is "private". FEATURES are names of WebKit's features, by commas, that are switched on.
Downloads land in FOLDER/downloads.
"""

import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("WebKit2", "4.1")
from gi.repository import GLib, Gtk, WebKit2

folder, private, features = sys.argv[1:4]

if private == "private":
    data = WebKit2.WebsiteDataManager.new_ephemeral()
else:
    data = WebKit2.WebsiteDataManager(
        base_data_directory=f"{folder}/data", base_cache_directory=f"{folder}/cache"
    )
context = WebKit2.WebContext(website_data_manager=data)
context.set_automation_allowed(True)

settings = WebKit2.Settings()
known = WebKit2.Settings.get_all_features()
for feature in (known.get(at) for at in range(known.get_length())):
    if feature.get_identifier() in features.split(","):
        settings.set_feature_enabled(feature, True)


def create_web_view(session):
    view = WebKit2.WebView(
        web_context=context, settings=settings, is_controlled_by_automation=True
    )
    window = Gtk.Window()
    window.set_default_size(1200, 900)
    window.add(view)
    window.show_all()
    return view


def automation_started(context, session):
    info = WebKit2.ApplicationInfo()
    info.set_name("WebKitGTK")
    info.set_version(
        WebKit2.get_major_version(), WebKit2.get_minor_version(), WebKit2.get_micro_version()
    )
    session.set_application_info(info)
    session.connect("create-web-view", create_web_view)


def decide_destination(download, name):
    download.set_destination(GLib.filename_to_uri(f"{folder}/downloads/{name}"))
    return True


def download_started(context, download):
    download.connect("decide-destination", decide_destination)


context.connect("automation-started", automation_started)
context.connect("download-started", download_started)
Gtk.main()
