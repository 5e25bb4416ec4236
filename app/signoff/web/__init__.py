"""The browser application: Panel pages, plain forms, one port; see `app.create_app`."""
